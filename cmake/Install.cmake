# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` leaves: headers, static libraries, the program, and a package so that find_package(regrow) gives regrow::regrow.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(regrow_package ${CMAKE_INSTALL_LIBDIR}/cmake/regrow)

install(TARGETS regrow ${regrow_targets} EXPORT regrow
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET regrow_frontend)
  install(FILES ${front_door} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/regrow)
endif()
if(TARGET regrow_cli)
  install(TARGETS regrow_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(EXPORT regrow NAMESPACE regrow:: FILE regrowTargets.cmake DESTINATION ${regrow_package})
configure_package_config_file(cmake/regrowConfig.cmake.in ${PROJECT_BINARY_DIR}/regrowConfig.cmake
  INSTALL_DESTINATION ${regrow_package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/regrowConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/regrowConfig.cmake ${PROJECT_BINARY_DIR}/regrowConfigVersion.cmake cmake/XxHash.cmake
  DESTINATION ${regrow_package})
