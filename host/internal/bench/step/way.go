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

// way is one way to run a step.
type way struct {
	name string
	run  func(ctx context.Context, export string, input []byte, h host) ([]byte, error)
}

// host serves the host functions of a step.
type host interface {
	Call(family string, request []byte) (reply []byte)
}

var (
	_ host = guest.Host(nil)
	_ host = (*recordingtest.Replay)(nil)
)

// Places of the ways in what open returns.
const (
	native = iota
	direct
	environment
	sdk
)

// open makes every way ready; shut releases them.
func open(ctx context.Context) (ways []way, shut func() error, err error) {
	var closers []func() error
	shut = func() (err error) {
		for i := len(closers) - 1; i >= 0; i-- {
			err = errors.Join(err, closers[i]())
		}
		return err
	}
	ways = []way{
		native:      {"native Go", runNative},
		direct:      {name: "engine, direct"},
		environment: {name: "engine, Extism environment"},
		sdk:         {name: "Extism SDK for Go 1.7.1"},
	}
	for at, only := range map[int]bool{direct: false, environment: true} {
		e, err := engine.New(ctx, &engine.Options{KernelCallsOnly: only, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, nil, errors.Join(err, shut())
		}
		closers = append(closers, func() error { return e.Close(context.WithoutCancel(ctx)) })
		p, err := e.Load(ctx, wasm.Parley)
		if err != nil {
			return nil, nil, errors.Join(err, shut())
		}
		ways[at].run = func(ctx context.Context, export string, input []byte, h host) ([]byte, error) {
			return p.Run(ctx, export, input, forEngine{h})
		}
	}
	s, err := openSDK(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	ways[sdk].run = s.run
	closers = append(closers, func() error { return s.plugin.Close(context.WithoutCancel(ctx)) })
	return ways, shut, nil
}

// runNative calls the plugin's code, which was compiled into this program.
func runNative(_ context.Context, export string, input []byte, h host) ([]byte, error) {
	if export == abi.ExportResume {
		return tool.Resume(h, input), nil
	}
	return tool.Call(h, input), nil
}

// forEngine makes engine.HostFunctions of a host.
type forEngine struct{ host }

func (h forEngine) Call(_ context.Context, family string, request []byte) ([]byte, error) {
	return h.host.Call(family, request), nil
}

// official is a plugin in the Extism SDK. Its host functions belong to the plugin
// and not to a call.
type official struct {
	plugin *extism.Plugin
	host   host // of the running step
}

func openSDK(ctx context.Context) (*official, error) {
	o := &official{}
	var functions []extism.HostFunction
	for _, family := range []string{abi.ImportStore, abi.ImportAgent, abi.ImportDeliver} {
		f := extism.NewHostFunctionWithStack(family, func(_ context.Context, p *extism.CurrentPlugin, stack []uint64) {
			request, err := p.ReadBytes(stack[0])
			if err != nil {
				panic(err) // the SDK's way to end the call
			}
			if stack[0], err = p.WriteBytes(o.host.Call(family, request)); err != nil {
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

func (o *official) run(ctx context.Context, export string, input []byte, h host) ([]byte, error) {
	o.host = h
	code, output, err := o.plugin.CallWithContext(ctx, export, input)
	if err == nil && code != 0 {
		err = fmt.Errorf("the plugin returned %d", code)
	}
	return output, err
}
