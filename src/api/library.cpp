// libsaccade is made of the static libraries of src/; CMake wants a shared library to have a source of its
// own.
