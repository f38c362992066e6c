# Everything Sluice links, found once. scripts/install-deps.sh installs it.
set(Boost_NO_WARN_NEW_VERSIONS ON)
if(EXISTS ${CMAKE_SOURCE_DIR}/build/deps/usr)  # the private prefix of install-deps.sh
  list(APPEND CMAKE_PREFIX_PATH ${CMAKE_SOURCE_DIR}/build/deps/usr)
endif()
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(Threads REQUIRED)
find_package(pugixml REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(tomlplusplus 3 REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(spdlog 1.10 REQUIRED)
find_package(tl-expected 1.0 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBFABRIC REQUIRED IMPORTED_TARGET libfabric>=1.17)

# Asio and Beast are compiled once (src/base/asio_impl.cpp, src/http/beast_impl.cpp), not in every unit.
add_library(sluice_asio INTERFACE)
target_link_libraries(sluice_asio INTERFACE Boost::headers Threads::Threads OpenSSL::SSL OpenSSL::Crypto)
target_compile_definitions(sluice_asio INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION
  BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE)
