// RUN: not mpc-opt %s --mpc-attach-loss=loss=output 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=output: 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y:t,axis=1 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y:t,reduction=sum,reduction=mean 2>&1 | FileCheck %s --check-prefix=OPTION-TWICE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=mse:y:t,reduction=none 2>&1 | FileCheck %s --check-prefix=REDUCTION
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,axis=last 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,ignore_index=0.5 2>&1 | FileCheck %s --check-prefix=IGNORE
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,label_smoothing=nan 2>&1 | FileCheck %s --check-prefix=SMOOTHING
// RUN: not mpc-opt %s --mpc-attach-loss=loss=softmax_cross_entropy:y:t,weight=1/inf/1 2>&1 | FileCheck %s --check-prefix=WEIGHT
// RUN: not mpc-opt %s --mpc-attach-loss="step=:loss=mse:y:t" 2>&1 | FileCheck %s --check-prefix=NO-NAME
// RUN: not mpc-opt %s --mpc-attach-loss="step=loss=mse:y:t" 2>&1 | FileCheck %s --check-prefix=NO-NAME
// RUN: not mpc-opt %s --mpc-attach-loss="step=a:colour=red" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step=a/b" 2>&1 | FileCheck %s --check-prefix=SLASH
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step=a.trace" 2>&1 | FileCheck %s --check-prefix=TRACE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=sgd,lr=1,lr=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t scaler=static,init_scale=" 2>&1 | FileCheck %s --check-prefix=PAIR
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=sgdd" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=adam,betas=0.5/1.5" 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=sgd,lr=fast" 2>&1 | FileCheck %s --check-prefix=RATE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t optimizer=adam,momentum=0.9 step={a:params=w},{b:params=w}" 2>&1 | FileCheck %s --check-prefix=ONCE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t scaler=often" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t scaler=dynamic,init_scale=true" 2>&1 | FileCheck %s --check-prefix=SCALE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=w:lr=-1" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step={a:every=0}" 2>&1 | FileCheck %s --check-prefix=EVERY
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step={a:every=}" 2>&1 | FileCheck %s --check-prefix=NO-EVERY
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t step={a:every=2},{b}" 2>&1 | FileCheck %s --check-prefix=EVERY-FIRST
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t params=(" 2>&1 | FileCheck %s --check-prefix=PARAMS
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=lr=2" 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group={{w:wd=1,weight_decay=2}}" 2>&1 | FileCheck %s --check-prefix=DECAY
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=w:lr=fast" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t param-group=(:lr=2" 2>&1 | FileCheck %s --check-prefix=PATTERN
// RUN: not mpc-opt %s --mpc-attach-loss="loss=mse:y:t clip-value=inf" 2>&1 | FileCheck %s --check-prefix=CLIP

// OUTPUT: error: loss 'output{{:?}}' names no output
// OUTPUT: note: hint: write output:NAME, the output of the network that is its loss
// OPTION: error: loss 'mse' has no option 'axis'
// OPTION: note: hint: write mse:PREDICTION:TARGET[,reduction=mean|sum]
// OPTION-TWICE: error: loss 'mse:y:t,reduction=sum,reduction=mean' gives 'reduction' twice
// OPTION-TWICE: note: hint: keep one of them
// REDUCTION: error: loss 'mse': reduction='none' is not mean or sum: a loss is one number
// AXIS: error: loss 'softmax_cross_entropy': axis='last' is not the number of a dimension
// AXIS: note: hint: write softmax_cross_entropy:LOGITS:LABELS[,axis=N][,ignore_index=-100][,label_smoothing=0][,weight=W0/W1/...|FILE.npy][,reduction=mean|sum]
// IGNORE: error: loss 'softmax_cross_entropy': ignore_index='0.5' is not a whole number
// SMOOTHING: error: loss 'softmax_cross_entropy': label_smoothing='nan' is not a number from 0 to 1
// WEIGHT: error: loss 'softmax_cross_entropy': weight='1/inf/1' is not numbers with '/' between them
// NO-NAME: error: step '{{:?}}loss=mse:y:t': no name in front
// NO-NAME: note: hint: write NAME:loss=FORM:A:B:params=REGEX:optimizer=NAME,lr=0.1:scaler=dynamic:every=K (all but the name optional)
// EVERY: error: step 'a:every=0': every=0 is no whole number from 1 to 2^31
// NO-EVERY: error: step 'a:every=': every= is no whole number from 1 to 2^31
// EVERY-FIRST: error: the first step 'a' does not run on each batch (every=2)
// EVERY-FIRST: note: hint: put a step without every= first: it draws each batch's random numbers
// KEY: error: step 'a:colour=red': 'colour=red' is not loss=, params=, optimizer=, scaler= or every=
// KEY: note: hint: write NAME:loss=FORM:A:B
// SLASH: error: a step cannot be called 'a/b'
// SLASH: note: hint: choose a name that no entry, no step and no parameter of the model has, without '/'
// TRACE: error: a step cannot be called 'a.trace'
// TWICE: error: 'lr' is given twice
// TWICE: note: hint: keep one of them
// PAIR: error: 'init_scale=' is not key=value
// PAIR: note: hint: separate key=value pairs by commas
// OPTIMIZER: error: there is no optimizer 'sgdd'
// OPTIMIZER: note: hint: did you mean 'sgd'? the optimizers are sgd (lr=0.01, momentum=0, dampening=0, nesterov=0, weight_decay=0); adam (lr=0.001
// BETAS: error: optimizer adam: 'beta2' is 1.5, which does not lie in [0, 1)
// BETAS: note: hint: beta2 is the decay of the second moment; default 0.999
// RATE: error: optimizer sgd: 'lr' is no number, which does not lie in [0, inf)
// The steps share the text, so its mistake is reported once.
// ONCE: error: optimizer adam: no hyperparameter 'momentum'
// ONCE-NOT: error: optimizer
// KIND: error: loss scaler: 'often' is no kind
// KIND: note: hint: none, static, dynamic or calibrate
// SCALE: error: loss scaler: 'init_scale' is not a finite number
// NEGATIVE: error: parameter group 'w': cannot set 'lr' so
// NEGATIVE: note: hint: a group sets lr (a factor) and weight_decay, not negative
// PARAMS: error: '(' is not a regular expression
// PARAMS: note: hint: write a POSIX extended regular expression
// GROUP: error: 'lr=2' is not a parameter group
// GROUP: note: hint: write REGEX:lr=FACTOR,weight_decay=VALUE
// GROUP-NOT: is not a parameter group
// DECAY: error: 'weight_decay' is given twice
// DECAY: note: hint: keep one of wd and weight_decay
// TEXT: error: 'lr' of a parameter group is not a known number
// TEXT: note: hint: a group sets lr (a factor) and weight_decay
// PATTERN: error: '(' is not a regular expression
// CLIP: error: --clip-value takes a positive number
// CLIP: note: hint: leave the option out to train without clipping
train.variable @w parameter : tensor<3xf32> = #train.fill<1.0>
func.func @forward(%x: tensor<4x3xf32> {train.name = "x", train.batched}) -> (tensor<4x3xf32> {train.name = "y"}) {
  %w = train.read @w : tensor<3xf32>
  %y = graph.mul %x, %w : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}
