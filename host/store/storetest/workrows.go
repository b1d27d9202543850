package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// fill sets every stored member of a row, recursively, to a distinct value.
func fill(v reflect.Value, name string) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"` + name + `":[1.50,"<&>\u2028",null,{}]}`))
	case v.Kind() == reflect.String:
		v.SetString(name + " \"ä\\\n<&>\u2028😀")
	case v.CanInt():
		v.SetInt(1_700_000_000 + int64(len(name)))
	case v.CanFloat():
		v.SetFloat(0.0123)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), name+"0")
		fill(v.Index(1), name+"1")
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				fill(v.Field(i), name+f.Name)
			}
		}
	default:
		panic("a row has a member of a new type: " + name)
	}
}

func filled[T any](id string) *T {
	row := new(T)
	v := reflect.ValueOf(row).Elem()
	fill(v, id)
	v.FieldByName("ID").SetString(id)
	return row
}

func testRows(t *testing.T, s store.Durable) {
	bareRun := &store.Run{ID: "bare", Seq: 7}
	for _, put := range [][]any{
		{filled[store.Flow]("full"), filled[store.Run]("full"), filled[store.Delivery]("full")},
		{&store.Flow{ID: "bare"}, bareRun, &store.Delivery{ID: "bare"}},
		// An update replaces the whole row.
		{&store.Flow{ID: "full"}, &store.Run{ID: "full", Seq: filled[store.Run]("full").Seq}, &store.Delivery{ID: "full"}},
	} {
		putWork(t, s, put...)
		id := put[0].(*store.Flow).ID
		flow := inView(t, s, func(ctx context.Context, v store.View) (*store.Flow, error) { return v.Flow(ctx, id) })
		run := inView(t, s, func(ctx context.Context, v store.View) (*store.Run, error) { return v.Run(ctx, id) })
		delivery := inView(t, s, func(ctx context.Context, v store.View) (*store.Delivery, error) { return v.Delivery(ctx, id) })
		if diff := cmp.Diff(put, []any{flow, run, delivery}); diff != "" {
			t.Errorf("a view (-put +got):\n%s", diff)
		}
		update(t, s, func(tx store.Tx) error {
			flow, err := tx.Flow(id)
			run, err2 := tx.Run(id)
			delivery, err3 := tx.Delivery(id)
			if diff := cmp.Diff(put, []any{flow, run, delivery}); diff != "" {
				t.Errorf("a transaction (-put +got):\n%s", diff)
			}
			return errors.Join(err, err2, err3)
		})
	}
	refused := map[string]func(store.Tx) error{
		"a flow without id":     func(tx store.Tx) error { return tx.PutFlow(&store.Flow{}) },
		"a run without id":      func(tx store.Tx) error { return tx.PutRun(&store.Run{}) },
		"a delivery without id": func(tx store.Tx) error { return tx.PutDelivery(&store.Delivery{}) },
		"a state that is not JSON": func(tx store.Tx) error {
			return tx.PutFlow(&store.Flow{ID: "x", State: []byte(`{"a":`)})
		},
	}
	for name, put := range refused {
		if err := s.Update(context.Background(), put); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("%s: %v; want invalid_args", name, err)
		}
	}
}

func testCalls(t *testing.T, s store.Durable) {
	ctx := context.Background()
	a, b := store.CallKey{Scope: "s", ID: "a"}, store.CallKey{Scope: "s", ID: "b"}
	other := store.CallKey{Scope: "other", ID: "a"}
	putWork(t, s, &store.Flow{ID: "1", Call: a}, &store.Flow{ID: "2", Call: b}, &store.Flow{ID: "3", Call: other},
		&store.Flow{ID: "4"}, &store.Flow{ID: "5"}, &store.Flow{ID: "6", Call: store.CallKey{Scope: "s"}}, &store.Flow{ID: "7", Call: store.CallKey{ID: "a"}},
		&store.Run{ID: "1", Request: a}, &store.Run{ID: "2", Request: b}, &store.Run{ID: "3", Request: other}, &store.Run{ID: "4"}, &store.Run{ID: "5"})
	v := workView(t, s)
	for call, want := range map[store.CallKey]string{a: "1", b: "2", other: "3", {ID: "a"}: "7", {Scope: "s"}: "", {}: "", {Scope: "s", ID: "c"}: ""} {
		flow, err := v.FlowOf(ctx, call)
		inside := inUpdate(t, s, func(tx store.Tx) (*store.Flow, error) { return tx.FlowOf(call) })
		if err != nil || (flow == nil) != (want == "") || flow != nil && flow.ID != want || !reflect.DeepEqual(flow, inside) {
			t.Errorf("flow of %v: %v, in a transaction %v, %v; want %q", call, flow, inside, err, want)
		}
		if want == "7" {
			want = ""
		}
		run, err := v.RunOf(ctx, call)
		insideRun := inUpdate(t, s, func(tx store.Tx) (*store.Run, error) { return tx.RunOf(call) })
		if err != nil || (run == nil) != (want == "") || run != nil && run.ID != want || !reflect.DeepEqual(run, insideRun) {
			t.Errorf("run of %v: %v, in a transaction %v, %v; want %q", call, run, insideRun, err, want)
		}
	}
	for name, put := range map[string]func(store.Tx) error{
		"a new flow":      func(tx store.Tx) error { return tx.PutFlow(&store.Flow{ID: "x", Call: a}) },
		"a flow, updated": func(tx store.Tx) error { return tx.PutFlow(&store.Flow{ID: "2", Call: a}) },
		"a new run":       func(tx store.Tx) error { return tx.PutRun(&store.Run{ID: "x", Request: a}) },
		"a run, updated":  func(tx store.Tx) error { return tx.PutRun(&store.Run{ID: "2", Request: a}) },
		"a run's own seq": func(tx store.Tx) error { return tx.PutRun(&store.Run{ID: "x", Seq: 1}) },
	} {
		if err := s.Update(ctx, put); !errors.Is(err, abi.Conflict) {
			t.Errorf("%s with another's key: %v; want conflict", name, err)
		}
		// A conflict leaves the transaction usable.
		update(t, s, func(tx store.Tx) error {
			if err := put(tx); !errors.Is(err, abi.Conflict) {
				t.Errorf("%s with another's key: %v; want conflict", name, err)
			}
			return tx.PutDelivery(&store.Delivery{ID: name})
		})
		if d := inView(t, s, func(ctx context.Context, v store.View) (*store.Delivery, error) { return v.Delivery(ctx, name) }); d == nil {
			t.Errorf("%s: a write after the conflict is not stored", name)
		}
	}
	for id, want := range map[string]store.CallKey{"2": b, "x": {}} {
		f := inView(t, s, func(ctx context.Context, v store.View) (*store.Flow, error) { return v.Flow(ctx, id) })
		if (f == nil) != (id == "x") || f != nil && f.Call != want {
			t.Errorf("after the conflicts, flow %s is %v", id, f)
		}
	}
	// Of two concurrent updates with the same call, one fails.
	errs := make([]error, 2)
	race := []func(){}
	for i := range errs {
		race = append(race, func() {
			errs[i] = s.Update(ctx, func(tx store.Tx) error {
				return tx.PutFlow(&store.Flow{ID: fmt.Sprint("race", i), Call: store.CallKey{Scope: "s", ID: "race"}})
			})
		})
	}
	runTogether(t, s, race...)
	if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), abi.Conflict) {
		t.Errorf("two flows of one call: %v", errs)
	}
}

func testRunNumbers(t *testing.T, s store.Durable) {
	first := &store.Run{ID: "first", QueuedAt: 9}
	putWork(t, s, first, &store.Run{ID: "second", QueuedAt: 3})
	if first.Seq != 0 {
		t.Errorf("PutRun changed its argument: the number is %d", first.Seq)
	}
	_ = s.Update(context.Background(), func(tx store.Tx) error {
		return errors.Join(tx.PutRun(&store.Run{ID: "lost"}), errors.New("failed"))
	})
	putWork(t, s, &store.Run{ID: "third"}, &store.Run{ID: "first", Reply: "changed"})
	last := int64(0)
	for _, id := range []string{"first", "second", "third"} {
		seq := seqOf(t, s, id)
		if seq <= last {
			t.Errorf("run %s has the number %d, the previous one %d", id, seq, last)
		}
		last = seq
	}
}

func seqOf(t *testing.T, s store.Durable, run string) int64 {
	t.Helper()
	return inView(t, s, func(ctx context.Context, v store.View) (*store.Run, error) { return v.Run(ctx, run) }).Seq
}

func testSecret(t *testing.T, open OpenDurable) {
	s, reopen := open(t)
	other, _ := open(t)
	secret := bytes.Clone(s.Secret())
	if len(secret) < 16 || bytes.Equal(secret, make([]byte, len(secret))) || bytes.Equal(secret, other.Secret()) {
		t.Errorf("the secrets of two stores are %x and %x", secret, other.Secret())
	}
	clear(s.Secret())
	if !bytes.Equal(s.Secret(), secret) {
		t.Error("a caller can change the secret")
	}
	if got := reopen().Secret(); !bytes.Equal(got, secret) {
		t.Errorf("after reopening, the secret is %x; it was %x", got, secret)
	}
}

func testReopen(t *testing.T, open OpenDurable) {
	s, reopen := open(t)
	flow, run, delivery := filled[store.Flow]("x"), filled[store.Run]("x"), filled[store.Delivery]("x")
	putWork(t, s, flow, run, delivery)
	update(t, s, func(tx store.Tx) error { return changeAll(tx, "again") })
	s = reopen()
	checkChanges(t, s, "again", true)
	got := []any{
		inView(t, s, func(ctx context.Context, v store.View) (*store.Flow, error) { return v.Flow(ctx, "x") }),
		inView(t, s, func(ctx context.Context, v store.View) (*store.Run, error) { return v.Run(ctx, "x") }),
		inView(t, s, func(ctx context.Context, v store.View) (*store.Delivery, error) { return v.Delivery(ctx, "x") }),
	}
	if diff := cmp.Diff([]any{flow, run, delivery}, got); diff != "" {
		t.Errorf("after reopening (-put +got):\n%s", diff)
	}
	update(t, s, func(tx store.Tx) error {
		held, err := tx.Holds(store.KindRun, "again", "w", 1)
		if !held {
			t.Error("after reopening, the claim is not held")
		}
		return err
	})
}
