# make install: the binary, libsluice.so, the public headers, CMake and pkg-config files.
