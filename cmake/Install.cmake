# What another project links, the same by add_subdirectory and by find_package(tilewright):
#   tilewright::tilewright       plan() and run() (tilewright/gemm.h), with the kernels of both machines
#   tilewright::emulator         the emulated machine, for what is done with it by hand
#   tilewright::kernel_build     for kernels of one's own on the emulated machine
#   tilewright::device_build     for kernels of one's own on a GPU: CUDA sources for sm_90a
#   tilewright::blackwell_build  the same for sm_100a
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_targets)
foreach(name tilewright host emulator kernel_build device_build blackwell_build kernels_gpu kernels_blackwell
             kernels_emulated)
  set(target tilewright_${name})
  if(name STREQUAL tilewright)
    set(target tilewright)
  endif()
  add_library(tilewright::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  list(APPEND package_targets ${target})
endforeach()

# --component library: without the programs.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tilewright)
install(TARGETS ${package_targets} EXPORT tilewright COMPONENT library
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/ emulator/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library)
install(EXPORT tilewright NAMESPACE tilewright:: FILE tilewrightTargets.cmake DESTINATION ${package_folder}
        COMPONENT library)
configure_package_config_file(cmake/tilewrightConfig.cmake.in ${PROJECT_BINARY_DIR}/tilewrightConfig.cmake
                              INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tilewrightConfig.cmake ${PROJECT_BINARY_DIR}/tilewrightConfigVersion.cmake
        DESTINATION ${package_folder} COMPONENT library)
# find_package works with the build folder itself, too.
export(EXPORT tilewright NAMESPACE tilewright:: FILE ${PROJECT_BINARY_DIR}/tilewrightTargets.cmake)
