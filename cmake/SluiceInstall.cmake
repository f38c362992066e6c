# make install: the binary, libsluice.so, the public headers, CMake and pkg-config files.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Only namespace sluice leaves the library: templates of what it links would otherwise be exported weakly.
target_link_options(sluice PRIVATE "LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/libsluice.map")
set_property(TARGET sluice APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libsluice.map)

install(TARGETS sluice_tool RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS sluice EXPORT sluiceTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sluice)
install(EXPORT sluiceTargets NAMESPACE sluice:: DESTINATION ${config_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sluiceConfig.cmake.in
  ${CMAKE_BINARY_DIR}/install/sluiceConfig.cmake INSTALL_DESTINATION ${config_dir})
# Before 1.0 a minor version may break its users.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/install/sluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/install/sluiceConfig.cmake ${CMAKE_BINARY_DIR}/install/sluiceConfigVersion.cmake
  DESTINATION ${config_dir})

# Relative to where sluice.pc lies, so that an installed tree can be moved; `make install` may give another prefix
# than the configured one.
file(RELATIVE_PATH SLUICE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" SLUICE_PC_PREFIX "${SLUICE_PC_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/sluice.pc.in ${CMAKE_BINARY_DIR}/install/sluice.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/install/sluice.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
