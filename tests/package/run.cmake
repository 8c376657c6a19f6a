# SPDX-License-Identifier: Apache-2.0
# run(<what> COMMAND...): runs a command, fails with its output; its output is left in run_out.
# refused(<what> <text> COMMAND...): the command must fail and say <text> (line breaks and runs of spaces count as one).
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: exit status ${status}\n${out}")
  endif()
  set(run_out "${out}" PARENT_SCOPE)
  message(STATUS "${what}: good")
endfunction()

function(refused what text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(status EQUAL 0)
    message(FATAL_ERROR "${what}: was accepted, but must be refused\n${out}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " flat "${out}")
  string(FIND "${flat}" "${text}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${what}: the message lacks '${text}'\n${out}")
  endif()
  message(STATUS "${what}: refused with the right words")
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
file(MAKE_DIRECTORY ${WORK_DIR})
