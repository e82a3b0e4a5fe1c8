# Compilers, warnings, caches and libraries: what every target shares.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# -O2: the emulated kernels gain nothing from more, and compile faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
if(TILEWRIGHT_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1")  # compiles in half the time
endif()

find_program(TILEWRIGHT_CCACHE ccache)
if(TILEWRIGHT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TILEWRIGHT_CCACHE})
endif()

# psabi: a note about GCC 4.6 for every tensor map passed by value.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
                    $<$<AND:$<BOOL:${PROJECT_IS_TOP_LEVEL}>,$<COMPILE_LANGUAGE:CXX>>:-Werror>
                    $<$<COMPILE_LANGUAGE:CXX>:-Wno-psabi>)
if(TILEWRIGHT_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>
                      $<$<COMPILE_LANGUAGE:CXX>:-g1>)
  add_link_options(-fsanitize=address,undefined)
else()
  # Programs are carried to machines that have a GPU and nothing else.
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost 1.74 REQUIRED COMPONENTS context)

# ---- CUDA: TILEWRIGHT_CUDA is ON or OFF from here on
set(cuda_request ${TILEWRIGHT_CUDA})
set(TILEWRIGHT_CUDA OFF)
if(cuda_request STREQUAL AUTO OR cuda_request)
  include(CheckLanguage)
  # No architecture of CMake's choosing: the kernels name theirs.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # nvcc 12.8.0 to 12.9.0 miscompiles small products of 8- and 16-bit types; older ones lack instructions.
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
      message(FATAL_ERROR "nvcc is of CUDA ${CMAKE_CUDA_COMPILER_VERSION}; the GPU kernels need CUDA 13: install it, or "
                          "build the emulated machine alone with -DTILEWRIGHT_CUDA=OFF")
    endif()
    find_package(CUDAToolkit REQUIRED)
    # CMake 3.25 does not know that nvcc takes it.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    set(TILEWRIGHT_CUDA ON)
  elseif(cuda_request STREQUAL AUTO)
    message(NOTICE "-- NO CUDA COMPILER: the GPU kernels are not built; the emulated machine is all there is")
  else()
    message(FATAL_ERROR "TILEWRIGHT_CUDA=ON, but no CUDA compiler was found (set CUDACXX or PATH)")
  endif()
endif()
message(STATUS "GPU kernels: ${TILEWRIGHT_CUDA}; sanitizers: ${TILEWRIGHT_SANITIZE}")

# ---- how kernel code is compiled for a GPU, the library's own and a user's: for sm_90a only, or (blackwell) sm_100a only.
# nvcc's -arch=sm_90a would also make PTX of compute_90, which has no wgmma.
foreach(build device:90a blackwell:100a)
  string(REGEX MATCH "(.*):(.*)" build ${build})
  set(name tilewright_${CMAKE_MATCH_1}_build)
  add_library(${name} INTERFACE)
  target_compile_options(
    ${name}
    INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-gencode arch=compute_${CMAKE_MATCH_2},code=sm_${CMAKE_MATCH_2}>"
              # Here too for other projects: CMake 3.25 does not know that nvcc takes it.
              "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>")
  target_link_libraries(${name} INTERFACE tilewright_host)
endforeach()

# Compiles the CUDA sources of `target` through the check, which reads the report of ptxas: a spill, a stack frame or a
# warning is an error.
function(tilewright_check_ptxas target)
  target_compile_options(
    ${target}
    PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xptxas -v>"
            "$<$<COMPILE_LANGUAGE:CUDA>:-lineinfo>"
            "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xcompiler -Wall,-Wextra>")
  set_target_properties(
    ${target}
    PROPERTIES CUDA_COMPILER_LAUNCHER
               "${PROJECT_SOURCE_DIR}/scripts/check-ptxas;${PROJECT_SOURCE_DIR}/cmake/ptxas-exceptions.txt;${TILEWRIGHT_CCACHE}")
endfunction()
