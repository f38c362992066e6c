# sluice_layer(name DEPENDS ...) makes library sluice_<name> of src/<name>/**/*.cpp.
# sluice_test(name DEPENDS ... [LABELS ...]) makes sluice_test_<name> of tests/<name>/*_test.cpp.
add_library(sluice_flags INTERFACE)
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/src
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wno-missing-field-initializers
  $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan -fcoroutines>
  # g++ 12 with optimisation sees mismatched deletes in Asio's coroutine frames and uninitialised optionals where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete -Wno-maybe-uninitialized>)
if(SLUICE_WERROR)
  target_compile_options(sluice_flags INTERFACE -Werror)
endif()
if(SLUICE_SANITIZE)
  add_compile_options(-fsanitize=${SLUICE_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
  if(SLUICE_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()
if(SLUICE_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()

function(sluice_layer name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  add_library(sluice_${name} STATIC ${sources})
  target_link_libraries(sluice_${name} PUBLIC sluice_flags ${arg_DEPENDS})
endfunction()

function(sluice_test name)
  cmake_parse_arguments(arg "" "" "DEPENDS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  add_executable(sluice_test_${name} ${sources})
  target_include_directories(sluice_test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(sluice_test_${name} PRIVATE ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(sluice_test_${name} PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
    SLUICE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  gtest_discover_tests(sluice_test_${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${name};${arg_LABELS}" TIMEOUT 300)
endfunction()
