# LibTorch as imported targets, straight from the folder of the PyPI wheel. Not find_package(Torch): that insists on a CUDA toolkit,
# probes for GPUs and appends to global flags. The wheels bring every header that is needed here.
#
#   batchsweep_torch       libtorch_cpu and libc10; all that a trial on the CPU needs
#   batchsweep_torch_cuda  the same, and libtorch_cuda, libc10_cuda, libcudart, NCCL's header (with BATCHSWEEP_CUDA)
#
# BATCHSWEEP_TORCH is a site-packages folder (torch/ and nvidia/ in it) or an unpacked LibTorch (lib/ and include/ in it).

if(EXISTS ${BATCHSWEEP_TORCH}/torch/lib/libtorch_cpu.so)
  set(torch_root ${BATCHSWEEP_TORCH}/torch)
elseif(EXISTS ${BATCHSWEEP_TORCH}/lib/libtorch_cpu.so)
  set(torch_root ${BATCHSWEEP_TORCH})
else()
  message(FATAL_ERROR "No LibTorch in BATCHSWEEP_TORCH='${BATCHSWEEP_TORCH}': name the site-packages folder of the wheel "
                      "torch==2.11.0 or an unpacked LibTorch, or configure with -DBATCHSWEEP_TRIAL=OFF.")
endif()
set(BATCHSWEEP_TORCH_LIB ${torch_root}/lib)
set(nvidia_root ${BATCHSWEEP_TORCH}/nvidia)

# LibTorch keeps no binary interface between minor versions, and the c10d classes change with each.
file(STRINGS ${torch_root}/include/torch/headeronly/version.h torch_version REGEX "\"[0-9]+\\.[0-9]+\\.[0-9]+\"")
if(NOT torch_version MATCHES "\"2\\.11\\.")
  message(WARNING "This LibTorch says ${torch_version}; batchsweep is written for and tested with 2.11.0.")
endif()

function(batchsweep_torch_library target file)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${file} is missing: install the whole wheel, or configure with -DBATCHSWEEP_CUDA=OFF.")
  endif()
  add_library(${target} SHARED IMPORTED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file})
endfunction()

batchsweep_torch_library(torch_c10 ${torch_root}/lib/libc10.so)
batchsweep_torch_library(torch_cpu ${torch_root}/lib/libtorch_cpu.so)
add_library(batchsweep_torch INTERFACE)
# After the system's folders: LibTorch brings headers of its own fmt, which are not those of the libfmt that is linked.
target_compile_options(batchsweep_torch INTERFACE
  "SHELL:-idirafter \"${torch_root}/include\"" "SHELL:-idirafter \"${torch_root}/include/torch/csrc/api/include\"")
# The wheel is built with these; ProcessGroupNCCL.hpp is empty without them.
target_compile_definitions(batchsweep_torch INTERFACE
  USE_DISTRIBUTED USE_C10D_GLOO USE_C10D_NCCL USE_RPC USE_TENSORPIPE)
target_link_libraries(batchsweep_torch INTERFACE torch_cpu torch_c10)
set(nvidia_lib_folders cu13 cudnn nccl cusparselt nvshmem)
list(TRANSFORM nvidia_lib_folders PREPEND ${nvidia_root}/)
list(TRANSFORM nvidia_lib_folders APPEND /lib)
list(JOIN nvidia_lib_folders ":" nvidia_rpath_link)
target_link_options(batchsweep_torch INTERFACE LINKER:-rpath-link,${nvidia_rpath_link})

if(BATCHSWEEP_CUDA)
  batchsweep_torch_library(torch_c10_cuda ${torch_root}/lib/libc10_cuda.so)
  batchsweep_torch_library(torch_cuda ${torch_root}/lib/libtorch_cuda.so)
  batchsweep_torch_library(torch_cudart ${nvidia_root}/cu13/lib/libcudart.so.13)
  add_library(batchsweep_torch_cuda INTERFACE)
  target_include_directories(batchsweep_torch_cuda SYSTEM INTERFACE
    ${nvidia_root}/cu13/include ${nvidia_root}/cudnn/include ${nvidia_root}/nccl/include)
  # libtorch_cuda registers its kernels when it is loaded; nothing else may name it, so it must not be dropped as unneeded.
  target_link_options(batchsweep_torch_cuda INTERFACE LINKER:--no-as-needed)
  target_link_libraries(batchsweep_torch_cuda INTERFACE batchsweep_torch torch_cuda torch_c10_cuda torch_cudart)
endif()

# batchsweep_torch_program(NAME): where the program finds LibTorch at run time. A link lib/batchsweep-torch beside it wins, so that an
# installed tree can be carried to a machine whose LibTorch lies elsewhere; then the folder of the build.
function(batchsweep_torch_program name)
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH "$ORIGIN/../lib/batchsweep-torch;${BATCHSWEEP_TORCH_LIB}"
    INSTALL_RPATH "$ORIGIN/../lib/batchsweep-torch;$ORIGIN/../../lib/batchsweep-torch;${BATCHSWEEP_TORCH_LIB}")
endfunction()
