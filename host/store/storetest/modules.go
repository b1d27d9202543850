package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/host/store"
)

func testModules(t *testing.T, s store.Durable) {
	a, b := module("a"), module("b")
	update(t, s, func(tx store.Tx) error {
		again, signed := module("a"), module("b")
		again.Signer, again.AddedAt, again.Wasm = "", 99, []byte("other bytes")
		signed.Signer = b.Signer
		b.Signer = ""
		err := errors.Join(tx.PutModule(a), tx.PutModule(b), tx.PutModule(again), tx.PutModule(signed))
		b.Signer = signed.Signer
		return errors.Join(err,
			tx.PutActivation(&store.Activation{Digest: "a", At: 1, Origin: "built in"}),
			tx.PutActivation(&store.Activation{Seq: 9, Digest: "b", At: 2, Origin: "/x", Reason: "it trapped"}))
	})
	v := workView(t, s)
	for _, want := range []*store.Module{a, b} {
		got, err := v.Module(context.Background(), want.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("module %s: %s", want.Digest, diff)
		}
	}
	if got, err := v.Module(context.Background(), "none"); got != nil || err != nil {
		t.Errorf("an unknown module: %v, %v", got, err)
	}
	all, err := v.Modules(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		m.Wasm = []byte(m.Digest + " bytes")
	}
	if diff := cmp.Diff([]*store.Module{b, a}, all); diff != "" {
		t.Error(diff)
	}
	history, err := v.Activations(context.Background(), 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*store.Activation{{Seq: 2, Digest: "b", At: 2, Origin: "/x", Reason: "it trapped"}, {Seq: 1, Digest: "a", At: 1, Origin: "built in"}}, history); diff != "" {
		t.Error(diff)
	}
	if newest, err := v.Activations(context.Background(), 1); err != nil || len(newest) != 1 || newest[0].Digest != "b" {
		t.Errorf("the newest activation is %v, %v", newest, err)
	}
	update(t, s, func(tx store.Tx) error { return errors.Join(tx.DeleteModule("a"), tx.DeleteModule("none")) })
	if got, err := workView(t, s).Module(context.Background(), "a"); got != nil || err != nil {
		t.Errorf("a deleted module: %v, %v", got, err)
	}
}

func module(digest string) *store.Module {
	return &store.Module{
		Digest: digest, Name: "p", Version: digest + " \"1\"", Description: []byte(`{"abi":1,"tools":["<&>"]}`),
		Signer: "release", AddedAt: 5, Size: len(digest) + 6, Wasm: []byte(digest + " bytes"),
	}
}

func testStates(t *testing.T, s store.Durable) {
	put := func(id, module string, version int, ended int64) {
		update(t, s, func(tx store.Tx) error {
			return tx.PutFlow(&store.Flow{ID: id, Module: module, Plugin: `p "1"`, StateVersion: version, Status: store.FlowWaiting, AcceptedAt: 1, EndedAt: ended})
		})
	}
	put("1", "a", 1, 0)
	put("2", "a", 1, 0)
	put("3", "a", 2, 0)
	put("4", "", 0, 0)
	put("5", "b", 1, 7)
	put("6", "b", 1, 0)
	put("6", "a", 1, 0) // another step
	got, err := workView(t, s).StateCounts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx store.Tx) error {
		ids, err := tx.FlowsOf("a")
		if diff := cmp.Diff([]string{"1", "2", "3", "6"}, ids); diff != "" {
			t.Error(diff)
		}
		return err
	})
	want := []store.StateCount{{Plugin: `p "1"`, Flows: 1}, {Module: "a", Plugin: `p "1"`, StateVersion: 1, Flows: 3}, {Module: "a", Plugin: `p "1"`, StateVersion: 2, Flows: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
