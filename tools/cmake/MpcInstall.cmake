# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# `cmake --install build --prefix PREFIX`:
#   PREFIX/lib/mpc           mpc, mpc-opt, and what mpc makes programs from: mpc looks for it beside itself
#   PREFIX/bin               links to both tools
#   PREFIX/include/mpc       the headers of runtime/abi
#   PREFIX/lib/cmake/mpc     find_package(mpc), with mpc_add_program and mpc_add_library
#   PREFIX/share/mpc/torch   export.py, which exports modules of PyTorch for training
#   PREFIX/share/doc/mpc     the licence, the notices and the documents
#   PREFIX/share             completion scripts of bash, zsh and fish, and man pages (tools/mpc-docs)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(MPC_INSTALL_DIR ${CMAKE_INSTALL_LIBDIR}/mpc)
set(MPC_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mpc)

# The tools find MLIR and LLVM where they were linked from.
set_target_properties(mpc mpc-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
set(MPC_INSTALLED mpc mpc-opt mpc-runner mpc-tuner mpc-program mpc_emulator)
foreach(plugin mpc_onednn mpc_images)
  if(TARGET ${plugin})
    list(APPEND MPC_INSTALLED ${plugin})
  endif()
endforeach()
install(TARGETS ${MPC_INSTALLED} RUNTIME DESTINATION ${MPC_INSTALL_DIR} LIBRARY DESTINATION ${MPC_INSTALL_DIR})
file(RELATIVE_PATH MPC_FROM_BIN /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${MPC_INSTALL_DIR})
foreach(tool mpc mpc-opt)
  install(CODE "
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
    file(CREATE_LINK ${MPC_FROM_BIN}/${tool} \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${tool}\" SYMBOLIC)")
endforeach()
install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/abi/mpc DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/mpc-config.cmake.in ${CMAKE_BINARY_DIR}/mpc-config.cmake INSTALL_DESTINATION ${MPC_CMAKE_DIR} PATH_VARS MPC_INSTALL_DIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/mpc-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/mpc-config.cmake ${CMAKE_BINARY_DIR}/mpc-config-version.cmake DESTINATION ${MPC_CMAKE_DIR})

install(DIRECTORY tools/torch DESTINATION ${CMAKE_INSTALL_DATADIR}/mpc USE_SOURCE_PERMISSIONS FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
install(FILES LICENSE NOTICE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
