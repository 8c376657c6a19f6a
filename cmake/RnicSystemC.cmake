# SPDX-License-Identifier: Apache-2.0
# Finds SystemC and checks that it and the project agree on C++17. Used by the build and by the installed package.

if(CMAKE_CXX_STANDARD AND NOT CMAKE_CXX_STANDARD EQUAL 17)
  message(FATAL_ERROR
    "rnicsim needs C++17, not C++${CMAKE_CXX_STANDARD}: Debian's SystemC library is built as C++17, and any other "
    "standard fails at link time with an undefined sc_api_version_... symbol. Remove CMAKE_CXX_STANDARD or set it to 17.")
endif()
if(TARGET rnic_systemc)
  return()
endif()

# SystemC: Debian's package has no CMake config
find_path(RNICSIM_SYSTEMC_INCLUDE systemc PATHS $ENV{SYSTEMC_HOME}/include $ENV{SYSTEMC_INCLUDE})
find_library(RNICSIM_SYSTEMC_LIBRARY systemc PATHS $ENV{SYSTEMC_HOME}/lib $ENV{SYSTEMC_LIBDIR})
if(NOT RNICSIM_SYSTEMC_INCLUDE OR NOT RNICSIM_SYSTEMC_LIBRARY)
  message(FATAL_ERROR "SystemC is missing: apt-get install libsystemc-dev (2.3.4), or set SYSTEMC_HOME.")
endif()
file(STRINGS ${RNICSIM_SYSTEMC_INCLUDE}/sysc/kernel/sc_ver.h _ver REGEX "#define SC_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
string(REGEX REPLACE "[^0-9;]" "" _ver "${_ver}")
list(JOIN _ver "." RNICSIM_SYSTEMC_VERSION)
if(RNICSIM_SYSTEMC_VERSION VERSION_LESS 2.3.4)
  message(FATAL_ERROR "SystemC ${RNICSIM_SYSTEMC_VERSION} is too old: rnicsim needs 2.3.4 or newer.")
endif()
find_package(Threads REQUIRED)
add_library(rnic_systemc INTERFACE)
target_compile_definitions(rnic_systemc INTERFACE SC_INCLUDE_DYNAMIC_PROCESSES)
target_include_directories(rnic_systemc SYSTEM INTERFACE ${RNICSIM_SYSTEMC_INCLUDE})
target_link_libraries(rnic_systemc INTERFACE ${RNICSIM_SYSTEMC_LIBRARY} Threads::Threads)

# The link check that names the standard: the library's sc_api_version symbol carries it.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -std=c++17)
set(CMAKE_REQUIRED_INCLUDES ${RNICSIM_SYSTEMC_INCLUDE})
set(CMAKE_REQUIRED_LIBRARIES ${RNICSIM_SYSTEMC_LIBRARY} Threads::Threads)
check_cxx_source_compiles("#include <systemc>\nint sc_main(int, char**) { return 0; }" RNICSIM_SYSTEMC_IS_CXX17)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT RNICSIM_SYSTEMC_IS_CXX17)
  message(FATAL_ERROR
    "The SystemC library ${RNICSIM_SYSTEMC_LIBRARY} does not link with C++17: it was built with another C++ standard. "
    "Use Debian's libsystemc-dev, or build SystemC with -DCMAKE_CXX_STANDARD=17.")
endif()
