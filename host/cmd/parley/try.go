package main

import (
	"context"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/gateway"
	"github.com/parley-wasm/parley/host/internal/engine"
	"github.com/parley-wasm/parley/host/internal/module"
)

// readToTry reads a module and the settings that it is to be tried under.
func (a *app) readToTry(file string) ([]byte, *config.Config, error) {
	wasm, err := gateway.ReadModule(file)
	if err != nil {
		return nil, nil, err
	}
	path, err := a.configFile()
	if err != nil {
		return nil, nil, err
	}
	settings, err := loadConfig(path)
	return wasm, settings, err
}

// tryPlugin loads a module as a host would, for as long as use takes.
func (a *app) tryPlugin(ctx context.Context, wasm []byte, c *config.Config, use func(*engine.Plugin, *abi.Description) error) error {
	bounds, _ := gateway.Limits(c)
	e, err := engine.New(ctx, &engine.Options{CacheDir: a.cacheDir(), Limits: bounds, Logger: a.log})
	if err != nil {
		return err
	}
	defer e.Close(context.WithoutCancel(ctx))
	p, err := e.Load(ctx, wasm)
	if err != nil {
		return err
	}
	about, err := module.ParseDescription(p.Describe())
	if err != nil {
		return err
	}
	return use(p, about)
}
