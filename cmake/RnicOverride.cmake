# SPDX-License-Identifier: Apache-2.0
# -DRNICSIM_RTL_OVERRIDE=files.f: SystemVerilog files that replace ours of the same module name, in every model that is
# Verilated. cmake/rtl_override.py reads the list and refuses what does not fit, port by port; see there for the variables that
# it sets, and docs/howto/override.md for the list's format.
# The files get the general waivers of rtl/waivers.vlt; other warnings are refused as ours are.
# rnic_without_overridden(<variable> files...): the files whose module (= the file's name) is not replaced.
# Writes include/rnic/rtl/latency.h in the build folder: what the build replaces, and the extra cycles that it declares.

set(RNICSIM_RTL_OVERRIDE_FILES)
set(RNICSIM_RTL_OVERRIDE_ARGS)
set(RNICSIM_RTL_OVERRIDE_MODULES)
set(RNICSIM_RTL_OVERRIDE_DEPENDS)
set(RNICSIM_RTL_OVERRIDE_REPLACED)
set(RNICSIM_RTL_OVERRIDE_EXTRA)
if(RNICSIM_RTL_OVERRIDE)
  get_filename_component(_list "${RNICSIM_RTL_OVERRIDE}" ABSOLUTE BASE_DIR ${CMAKE_BINARY_DIR})
  if(NOT EXISTS ${_list} OR IS_DIRECTORY ${_list})
    message(FATAL_ERROR "RNICSIM_RTL_OVERRIDE names '${RNICSIM_RTL_OVERRIDE}', which is no file.")
  endif()
  find_package(Python3 3.9 COMPONENTS Interpreter QUIET)
  if(NOT Python3_FOUND)
    message(FATAL_ERROR "RNICSIM_RTL_OVERRIDE needs Python: apt-get install python3 (3.9 or newer), or set Python3_EXECUTABLE.")
  endif()
  set(_out ${PROJECT_BINARY_DIR}/rtl_override)
  set(_args)
  foreach(_pair flags=RNICSIM_VERILATOR_FLAGS dirs=RNICSIM_RTL_DIRS packages=RNICSIM_RTL_PACKAGES modules=RNICSIM_RTL_MODULES)
    string(REGEX MATCH "(.*)=(.*)" _ ${_pair})
    foreach(_value IN LISTS ${CMAKE_MATCH_2})
      list(APPEND _args --${CMAKE_MATCH_1}=${_value})
    endforeach()
  endforeach()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rtl_override.py --list=${_list} --root=${PROJECT_SOURCE_DIR}
      --work=${_out} --out=${_out}/list.cmake --vlt=${PROJECT_BINARY_DIR}/rtl_override.vlt
      --verilator=${RNICSIM_VERILATOR} --waivers=${RNICSIM_RTL_WAIVERS} ${_args}
    RESULT_VARIABLE _status ERROR_VARIABLE _text)
  string(REGEX REPLACE "\n" "\n  " _text "${_text}")  # CMake wraps lines that are not indented
  if(NOT _status EQUAL 0)
    # A mended file is looked at again by the next build, too.
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_list})
    message(FATAL_ERROR "The RTL of RNICSIM_RTL_OVERRIDE does not fit:\n  ${_text}")
  elseif(_text)
    message(WARNING "RTL of RNICSIM_RTL_OVERRIDE:\n  ${_text}")
  endif()
  include(${_out}/list.cmake)
  # Ours all the same, from another file (scripts/mutate): its tests hold in full.
  foreach(_module IN LISTS RNICSIM_RTL_OVERRIDE_OURS)
    list(FILTER RNICSIM_RTL_OVERRIDE_REPLACED EXCLUDE REGEX "^${_module}\\|")
  endforeach()
  list(APPEND RNICSIM_RTL_OVERRIDE_ARGS ${PROJECT_BINARY_DIR}/rtl_override.vlt)
  # Whenever one of the files changes, its ports are checked again.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${RNICSIM_RTL_OVERRIDE_LISTS} ${RNICSIM_RTL_OVERRIDE_DEPENDS})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rtl_override.py)
  message(STATUS "RTL modules replaced by ${_list}: ${RNICSIM_RTL_OVERRIDE_MODULES}")
  if(RNICSIM_RTL_OVERRIDE_EXTRA)
    string(REPLACE "|" " " _text "${RNICSIM_RTL_OVERRIDE_EXTRA}")
    message(STATUS "Extra cycles declared: ${_text}")
  endif()
endif()

function(rnic_without_overridden variable)
  set(kept)
  foreach(file IN LISTS ARGN)
    get_filename_component(module ${file} NAME_WE)
    if(NOT module IN_LIST RNICSIM_RTL_OVERRIDE_MODULES)
      list(APPEND kept ${file})
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

set(RNICSIM_LATENCY_ROWS)
foreach(_file IN LISTS RNICSIM_RTL_MODULES)
  get_filename_component(_block ${_file} NAME_WE)
  if(_block MATCHES "^rnic_top$|_checker$")  # no way of a message of their own
    continue()
  endif()
  set(_extra 0)
  foreach(_pair IN LISTS RNICSIM_RTL_OVERRIDE_EXTRA)
    if(_pair MATCHES "^${_block}\\|(.*)")
      set(_extra ${CMAKE_MATCH_1})
    endif()
  endforeach()
  string(APPEND RNICSIM_LATENCY_ROWS "    {\"${_block}\", ${_extra}},\n")
endforeach()
list(LENGTH RNICSIM_RTL_OVERRIDE_REPLACED RNICSIM_REPLACED_COUNT)
set(RNICSIM_REPLACED_ROWS)
foreach(_pair IN LISTS RNICSIM_RTL_OVERRIDE_REPLACED)
  string(REGEX MATCH "([^|]*)\\|(.*)" _ "${_pair}")
  string(APPEND RNICSIM_REPLACED_ROWS "    {\"${CMAKE_MATCH_1}\", R\"path(${CMAKE_MATCH_2})path\"},\n")
endforeach()
set(RNICSIM_GENERATED_INCLUDE ${PROJECT_BINARY_DIR}/include)
configure_file(${CMAKE_CURRENT_LIST_DIR}/latency.h.in ${RNICSIM_GENERATED_INCLUDE}/rnic/rtl/latency.h @ONLY)
