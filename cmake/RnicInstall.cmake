# SPDX-License-Identifier: Apache-2.0
# cmake --install: libraries, headers, the program, profiles, RTL sources, what users' tests need, and the package that
# find_package(rnicsim) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(RNICSIM_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/rnicsim)
set(RNICSIM_DATA_DIR ${CMAKE_INSTALL_DATADIR}/rnicsim)

# Nine archives: models, waveform checks, the NIC's driver and system, the Verilated NIC, the AllReduce engine's driver and
# system, the Verilated engine, the same two of the DMA engine, and Verilator's runtime.
set_target_properties(rnic_models PROPERTIES OUTPUT_NAME rnicsim_models)
set_target_properties(rnic_wave PROPERTIES OUTPUT_NAME rnicsim_wave)
set_target_properties(rnic_verilated PROPERTIES OUTPUT_NAME rnicsim_verilated)
set_target_properties(rnic_collective PROPERTIES OUTPUT_NAME rnicsim_collective)
set_target_properties(rnic_dma PROPERTIES OUTPUT_NAME rnicsim_dma)
install(TARGETS rnic_models rnic_wave rnicsim rnic_collective rnic_dma rnic_verilated ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_BINARY_DIR}/src/v_rnic_top.vl/Vrnic_top__ALL.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME librnicsim_rtl.a)
install(FILES ${PROJECT_BINARY_DIR}/src/v_arp_engine.vl/Varp_engine__ALL.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME librnicsim_arp_rtl.a)
install(FILES ${PROJECT_BINARY_DIR}/src/v_dma_engine.vl/Vdma_engine__ALL.a
  DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME librnicsim_dma_rtl.a)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/rnic DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${RNICSIM_GENERATED_INCLUDE}/rnic/rtl/latency.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rnic/rtl)

# The program installs itself (sim/CMakeLists.txt); the library needs the profiles without it, too.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/sim/profiles DESTINATION ${RNICSIM_DATA_DIR} FILES_MATCHING PATTERN "*.toml")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/sim/share/ DESTINATION ${RNICSIM_DATA_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/rtl DESTINATION ${RNICSIM_DATA_DIR}
  FILES_MATCHING PATTERN "*.sv" PATTERN "*.svh" PATTERN "*.vlt" PATTERN "*.rdl")
install(FILES ${PROJECT_SOURCE_DIR}/tests/support/sc_gtest_main.cpp DESTINATION ${RNICSIM_DATA_DIR}/testing/support)
install(FILES ${PROJECT_SOURCE_DIR}/tests/system/fixture.h DESTINATION ${RNICSIM_DATA_DIR}/testing/system)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rnicsimConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/rnicsimConfig.cmake
  INSTALL_DESTINATION ${RNICSIM_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR RNICSIM_DATA_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/rnicsimConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/package/rnicsimConfig.cmake
  ${PROJECT_BINARY_DIR}/package/rnicsimConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/RnicSystemC.cmake
  ${CMAKE_CURRENT_LIST_DIR}/RnicTesting.cmake
  DESTINATION ${RNICSIM_CMAKE_DIR})
