# The kernel libraries: one generated translation unit for each line of a kernel list, for each machine.

# Writes `content` to `path` unless it is already there (so that nothing is compiled again).
function(tilewright_write path content)
  file(CONFIGURE OUTPUT ${path} CONTENT "${content}" @ONLY)
endfunction()

# Sets `out` to the generated sources of one machine: an instance per argument list, and the table.
#   machine: gpu or emulated; mode: the inline namespace of that machine; extension: cu or cpp
function(tilewright_generate_kernels out machine mode extension)
  set(directory ${PROJECT_BINARY_DIR}/generated/${machine})
  set(sources)
  set(declarations "")
  set(rows "")
  set(index 0)
  foreach(arguments IN LISTS ARGN)
    string(REPLACE "|" ", " arguments "${arguments}")
    set(source ${directory}/fp8_kernel_${index}.${extension})
    tilewright_write(
      ${source}
      "#define TILEWRIGHT_INSTANCE_ARGS ${arguments}\n#define TILEWRIGHT_INSTANCE_INDEX ${index}\n#include \"src/fp8_instance.h\"\n"
    )
    list(APPEND sources ${source})
    string(APPEND declarations "const tilewright::kernels::Fp8Kernel& fp8_kernel_${index}();\n")
    string(APPEND rows "      tilewright::${mode}::fp8_kernel_${index}(),\n")
    math(EXPR index "${index} + 1")
  endforeach()
  set(body "#include \"tilewright/mainloop/fp8_gemm_params.h\"\n\n")
  if(index GREATER 0)
    string(APPEND body "namespace tilewright {\ninline namespace ${mode} {\n${declarations}}\n}\n\n"
           "tilewright::kernels::Fp8KernelTable tilewright::kernels::fp8_kernels_${machine}() {\n"
           "  static const Fp8Kernel rows[] = {\n${rows}  };\n"
           "  return {rows, ${index}};\n}\n")
  else()
    string(APPEND body "tilewright::kernels::Fp8KernelTable tilewright::kernels::fp8_kernels_${machine}() { return {}; }\n")
  endif()
  tilewright_write(${directory}/fp8_table.cpp "${body}")
  # No kernel code in it.
  set_source_files_properties(${directory}/fp8_table.cpp PROPERTIES COMPILE_OPTIONS -fno-sanitize=thread)
  set(${out} ${sources} ${directory}/fp8_table.cpp PARENT_SCOPE)
endfunction()

# Defines tilewright_kernels_emulated and tilewright_kernels_gpu from the lines of `list`.
function(tilewright_add_kernel_libraries list)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^TILEWRIGHT_FP8_KERNEL\\(")
  set(instances)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^TILEWRIGHT_FP8_KERNEL\\((.*)\\)[ ]*$" "\\1" arguments "${line}")
    string(REGEX REPLACE ", *" "|" arguments "${arguments}")
    list(APPEND instances ${arguments})
  endforeach()
  list(LENGTH instances count)
  message(STATUS "FP8 kernels of each machine: ${count}")

  tilewright_generate_kernels(sources emulated emulated cpp ${instances})
  add_library(tilewright_kernels_emulated STATIC ${sources})
  target_include_directories(tilewright_kernels_emulated PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(tilewright_kernels_emulated PRIVATE tilewright_kernel_build PUBLIC tilewright_host)

  if(TILEWRIGHT_CUDA)
    tilewright_generate_kernels(sources gpu device cu ${instances})
  else()
    tilewright_generate_kernels(sources gpu device cu)
  endif()
  add_library(tilewright_kernels_gpu STATIC ${sources})
  target_include_directories(tilewright_kernels_gpu PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(tilewright_kernels_gpu PRIVATE tilewright_device_build PUBLIC tilewright_host)
  if(TILEWRIGHT_CUDA)
    target_link_libraries(tilewright_kernels_gpu PRIVATE CUDA::cudart_static)
    if(TILEWRIGHT_BOUNDED_WAITS)
      target_compile_definitions(tilewright_kernels_gpu PRIVATE TILEWRIGHT_BOUNDED_WAITS)
    endif()
    tilewright_check_ptxas(tilewright_kernels_gpu)
  endif()
endfunction()
