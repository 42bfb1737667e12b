# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A project outside of mpc that trains a network in a C program.
cmake_minimum_required(VERSION 3.22)
project(outside LANGUAGES C)
find_package(mpc 0.2 REQUIRED)
mpc_add_library(regressor MODEL regressor.onnx OPTIONS --batch 32 --precision fp16 --loss mse:y:target)
mpc_add_program(train MODEL regressor.onnx OPTIONS --batch 32 --precision fp16 --loss mse:y:target)
add_executable(step step.c)
target_link_libraries(step PRIVATE regressor)
