//===- OnnxProto.h - the protobuf classes, in one place ------------------------===//
#ifndef MPC_IMPORT_ONNX_ONNXPROTO_H
#define MPC_IMPORT_ONNX_ONNXPROTO_H
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#include <onnx/onnx_pb.h>
#endif
