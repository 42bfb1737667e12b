# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives the values of an exported model their names while they are objects, before they are written by name.

torch names values by the calls that make them (`add`, `t`, `linear_1`) and parameters and buffers by the module's attributes. Both end up in one space of names: a parameter
`t` and the value of `aten.t` become one name with two meanings. Here inputs, outputs, parameters and buffers keep their names, and a value within the network that has one of
them is called `NAME.inner`. A value that forward assigns to a buffer keeps its node, and `# outputs` of the file's graph_signature has its final name:

    add: BUFFER_MUTATION target='ema'
"""
import onnx_ir as ir
from torch.export.graph_signature import OutputKind

from .errors import DEFECT, ExportError

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
FX_NODE = "pkg.torch.onnx.fx_node"
BATCH_NORM = "_native_batch_norm_legit_functional"


def name_values(captured, module):
    """Names all values, converts the model to its opset, and writes the signature anew. Returns {value of torch's graph: value of the file}."""
    model, graph = captured.program.model, captured.program.model.graph
    specs = captured.program.exported_program.graph_signature.output_specs
    refuse_changed_parameters(specs, module)
    of_torch = {value.name: value for node in graph for value in node.outputs}
    updates = buffer_updates(graph, specs)
    name_outputs(graph, captured.names)
    own_values(graph, updates)
    rename_shared(graph, module)
    make_unique(graph)
    buffers = {target: graph.initializers[target] for _, target in updates if target in graph.initializers}
    named = [(value.name, target) for value, target in updates]
    converted(model, captured.opset, [value for value, _ in updates])
    graph = model.graph
    make_unique(graph, {name for name, _ in named})
    for name, value in buffers.items():  # the conversion drops a buffer that forward overwrites before it reads it
        if name not in graph.initializers:
            graph.initializers[name] = value
    write_signature(graph, specs, captured.names, dict((target, name) for name, target in named), module)
    return {name: value.name for name, value in of_torch.items()}


def refuse_changed_parameters(specs, module):
    for spec in specs:
        if spec.kind.name == "PARAMETER_MUTATION":
            part = module.get_submodule(spec.target.rpartition(".")[0])
            hint = f"register it as a buffer if forward alone changes it; otherwise compute the new value without storing it, as torch.clamp(self.{spec.target}, -1, 1)"
            if getattr(part, "max_norm", None) is not None:
                hint = "an embedding with max_norm changes its rows in forward: make it without max_norm, and divide what it returns by its norm where that is too large"
            raise ExportError(f"forward changes the parameter '{spec.target}' itself, and a training program changes parameters by its optimizer alone\nhint: {hint}")


def values_of(graph):
    """Returns {name: value} of the values that nodes make, and of the inputs, by the names that the signature has. A name of a parameter hides none of them."""
    return {value.name: value for value in graph.inputs} | {value.name: value for node in graph for value in node.outputs}


def buffer_updates(graph, specs):
    """Returns [(value, name of the buffer)] of what forward assigns to buffers. Batch norms have their statistics as outputs of their own, and count no batches."""
    statistics = {value.name for node in graph if is_batch_norm(node) for value in node.inputs[3:5]}
    values = values_of(graph)
    found = []
    for spec in specs:
        if spec.kind != OutputKind.BUFFER_MUTATION or spec.target in statistics or spec.target.rpartition(".")[2] == "num_batches_tracked":
            continue
        if spec.target not in graph.initializers:
            raise ExportError(f"forward updates the buffer '{spec.target}', which torch did not put in the file\n{DEFECT}")
        stored = (value for value in graph.initializers.values() if value.metadata_props.get("pkg.torch.onnx.original_node_name") == spec.arg.name)
        value = values.get(spec.arg.name) or next(stored, None)
        if value is None:
            raise ExportError(f"the new value '{spec.arg.name}' of the buffer '{spec.target}' is not in torch's graph\n{DEFECT}")
        found.append((value, spec.target))
    return found


def is_batch_norm(node):
    return node.op_type == "BatchNormalization" and BATCH_NORM in node.metadata_props.get(FX_NODE, "")


def identity(graph, value):
    """Returns a copy of a value that a node makes, at the end of the graph."""
    node = ir.node("Identity", [value])
    node.outputs[0].shape, node.outputs[0].type = value.shape, value.type
    graph.append(node)
    return node.outputs[0]


def name_outputs(graph, names):
    """Names the outputs. One that is an input or a parameter, or an output already, becomes a copy, so that each has a name of its own."""
    taken = {value.name for value in graph.inputs} | set(graph.initializers)
    for name in names:
        if name in taken:
            raise ExportError(f"the output '{name}' has the name of an input or a parameter\nhint: choose another with outputs= (--output)")
    seen = set()
    for i, value in enumerate(list(graph.outputs)):
        if value.producer() is None or id(value) in seen:
            graph.outputs[i] = identity(graph, value)
        seen.add(id(graph.outputs[i]))
    for value, name in zip(graph.outputs, names):
        value.name = name


def own_values(graph, updates):
    """Makes a copy where a buffer gets an input, a parameter or another buffer as it is, or what another buffer gets, too."""
    taken = set()
    for i, (value, target) in enumerate(updates):
        if value.producer() is None or id(value) in taken:
            updates[i] = (identity(graph, value), target)
            updates[i][0].name = f"{target}.next"
        taken.add(id(updates[i][0]))


def rename_shared(graph, module):
    """Renames shared parameters, because dynamo names one by its last name and torch's optimizers by its first."""
    for old, new in shared_names(module).items():
        if old in graph.initializers:
            value = graph.initializers.pop(old)
            value.name = new
            value.const_value.name = new
            graph.initializers[new] = value


def shared_names(module):
    """Returns {further name: first name} of shared parameters."""
    first = {id(parameter): name for name, parameter in module.named_parameters()}
    return {name: first[id(parameter)] for name, parameter in module.named_parameters(remove_duplicate=False) if first[id(parameter)] != name}


def make_unique(graph, kept=()):
    """Renames values within the network whose name another value has, those of bodies too: a body may not hide a name of the graph around it.

    The names in `kept` stay with nodes of the graph.
    """
    fixed = [*graph.inputs, *graph.initializers.values(), *graph.outputs, *(value for node in graph for value in node.outputs if value.name in kept)]
    taken = {value.name for value in fixed}
    fixed = {id(value) for value in fixed}
    bodies = {id(node.graph): node.graph for node in ir.traversal.RecursiveGraphIterator(graph) if node.graph is not graph}
    inner = [value for body in bodies.values() for value in [*body.inputs, *body.initializers.values()]]
    for value in [*inner, *(value for node in ir.traversal.RecursiveGraphIterator(graph) for value in node.outputs)]:
        if id(value) in fixed or not value.name:
            continue
        name, count = value.name, 1
        while name in taken:
            name = f"{value.name}.inner" + (f"_{count}" if count > 1 else "")
            count += 1
        taken.add(name)
        value.name = name


def converted(model, opset, kept):
    """Converts the model to an opset. The values of `kept` are outputs for that time, because the conversion removes what no output needs."""
    if opset is None:
        raise ExportError("this torch version converts files in another way than this tool knows\nhint: use torch 2.9 or later")
    from onnxscript import version_converter
    count = len(model.graph.outputs)
    outputs = {id(value) for value in model.graph.outputs}
    model.graph.outputs.extend(value for value in {id(value): value for value in kept}.values() if id(value) not in outputs)
    version_converter.convert_version(model, opset, fallback=True)
    del model.graph.outputs[count:]


def write_signature(graph, specs, names, updates, module):
    """Writes the outputs of the signature with the final names, and shared parameters with their first."""
    head, _, _ = graph.metadata_props.get(SIGNATURE, "").partition("# outputs")
    for old, new in shared_names(module).items():
        head = head.replace(f"target='{old}'", f"target='{new}'")
    outputs, lines = iter(names), []
    for spec in specs:
        if spec.kind == OutputKind.USER_OUTPUT:
            lines.append(f"{next(outputs, spec.arg.name)}: USER_OUTPUT")
        elif spec.kind != OutputKind.BUFFER_MUTATION:
            lines.append(f"{spec.arg.name}: {spec.kind.name}" + (f" target='{spec.target}'" if spec.target else ""))
        elif spec.target in updates:
            lines.append(f"{updates[spec.target]}: BUFFER_MUTATION target='{spec.target}'")
    graph.metadata_props[SIGNATURE] = f"{head}# outputs\n" + "\n".join(lines) + "\n"
