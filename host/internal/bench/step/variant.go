package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	extism "github.com/extism/go-sdk"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/conformance/recordingtest"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/plugin/guest"
	"github.com/parley-wasm/parley/plugin/tool"
	"github.com/parley-wasm/parley/plugin/wasm"
)

// variant is one implementation that runs steps.
type variant struct {
	name string
	run  func(ctx context.Context, export string, input []byte, h host) ([]byte, error)
}

// host implements the host functions of a step.
type host interface {
	Call(namespace string, request []byte) (reply []byte)
}

var (
	_ host = guest.Host(nil)
	_ host = (*recordingtest.Replay)(nil)
)

// Indexes of the variants in the result of open.
const (
	nativeGo = iota
	directMemory
	kernelCalls
	sdk
)

// open returns all variants. If it returns no error, the caller must call closeAll.
func open(ctx context.Context) (variants []variant, closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() (err error) {
		for i := len(closers) - 1; i >= 0; i-- {
			err = errors.Join(err, closers[i]())
		}
		return err
	}
	variants = []variant{
		nativeGo:     {"native Go", runNative},
		directMemory: {name: "engine, direct memory"},
		kernelCalls:  {name: "engine, kernel calls"},
		sdk:          {name: "Extism SDK for Go 1.7.1"},
	}
	for at, only := range map[int]bool{directMemory: false, kernelCalls: true} {
		e, err := engine.New(ctx, &engine.Options{KernelCallsOnly: only, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		closers = append(closers, func() error { return e.Close(context.WithoutCancel(ctx)) })
		p, err := e.Load(ctx, wasm.Parley)
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		variants[at].run = func(ctx context.Context, export string, input []byte, h host) ([]byte, error) {
			return p.Run(ctx, export, input, hostFunctions{h})
		}
	}
	s, err := openSDK(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, closeAll())
	}
	variants[sdk].run = s.run
	closers = append(closers, func() error { return s.plugin.Close(context.WithoutCancel(ctx)) })
	return variants, closeAll, nil
}

// runNative calls the plugin's Go code directly.
func runNative(_ context.Context, export string, input []byte, h host) ([]byte, error) {
	if export == abi.ExportResume {
		return tool.Resume(h, input), nil
	}
	return tool.Call(h, input), nil
}

// hostFunctions adapts a host to engine.HostFunctions.
type hostFunctions struct{ host }

func (h hostFunctions) Call(_ context.Context, namespace string, request []byte) ([]byte, error) {
	return h.host.Call(namespace, request), nil
}

// sdkPlugin is a plugin in the Extism SDK. Its host functions belong to the plugin, not to
// a call.
type sdkPlugin struct {
	plugin *extism.Plugin
	host   host // of the current step
}

func openSDK(ctx context.Context) (*sdkPlugin, error) {
	o := &sdkPlugin{}
	var functions []extism.HostFunction
	for _, namespace := range []string{abi.ImportStore, abi.ImportAgent, abi.ImportDeliver} {
		f := extism.NewHostFunctionWithStack(namespace, func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
			request, err := p.ReadBytes(stack[0])
			if err != nil {
				panic(err) // the SDK ends the call
			}
			if stack[0], err = p.WriteBytes(o.host.Call(namespace, request)); err != nil {
				panic(err)
			}
		}, []extism.ValueType{extism.ValueTypeI64}, []extism.ValueType{extism.ValueTypeI64})
		f.SetNamespace(abi.ImportModule)
		functions = append(functions, f)
	}
	var err error
	o.plugin, err = extism.NewPlugin(ctx, extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm.Parley}}}, extism.PluginConfig{}, functions)
	return o, err
}

func (o *sdkPlugin) run(ctx context.Context, export string, input []byte, h host) ([]byte, error) {
	o.host = h
	code, output, err := o.plugin.CallWithContext(ctx, export, input)
	if err == nil && code != 0 {
		err = fmt.Errorf("the plugin returned %d", code)
	}
	return output, err
}
