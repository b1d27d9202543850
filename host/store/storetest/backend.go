package storetest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

// Backends creates the backends that ExerciseBackend tests.
type Backends struct {
	// New returns a location without a store.
	New func(t *testing.T) (location string)
	// At returns the backend under test for a location. The processes that the suite
	// starts call it too.
	At func(location string) (store.Backend, error)
}

// ExerciseBackend runs the test suite of backends. For a backend whose stores have an
// owner, TestMain must call Main first.
func ExerciseBackend(t *testing.T, backends Backends) {
	cases := []backendCase{
		{"kind and location", testLocation},
		{"a store is reopened", testOpenAgain},
	}
	if backends.at(t, backends.New(t)).Ownership() != nil {
		cases = append(cases, ownershipCases...)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.test(t, backends, backends.New(t)) })
	}
}

type backendCase struct {
	name string
	test func(t *testing.T, backends Backends, location string)
}

var ownershipCases = []backendCase{
	{"ownership: one owner", testOneOwner},
	{"ownership: concurrent acquires", testAcquireConcurrently},
	{"ownership: canceled contexts", testAcquireCanceled},
	{"ownership: an owner opens its store", testOwnerOpens},
	{"ownership: notices", testNotices},
	{"ownership: files next to the store", testCompanionPath},
	{"ownership: a process that exits", testOwnerEnds},
	{"ownership: a process that is killed", testOwnerKilled},
}

func (b Backends) at(t *testing.T, location string) store.Backend {
	t.Helper()
	backend, err := b.At(location)
	if err != nil {
		t.Fatal(err)
	}
	return backend
}

func acquire(t *testing.T, o store.Ownership) store.HeldLock {
	t.Helper()
	owned, err := o.Acquire(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := owned.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	return owned
}

// wantOwned fails the test if the store has no owner.
func wantOwned(t *testing.T, o store.Ownership) {
	t.Helper()
	owned, err := o.Acquire(context.Background())
	if err == nil {
		err = owned.Release()
		t.Errorf("acquired a store that has an owner; released: %v", err)
	} else if !errors.Is(err, store.ErrOwned) {
		t.Errorf("acquire: %v; want ErrOwned", err)
	}
}

func wantNotice(t *testing.T, o store.Ownership, want string) {
	t.Helper()
	if got, err := o.Notice(context.Background()); err != nil || string(got) != want {
		t.Errorf("the notice is %.100q, %v; want %.100q", got, err, want)
	}
}

func testLocation(t *testing.T, backends Backends, location string) {
	a, b := backends.at(t, location), backends.at(t, location)
	if a.Kind() == "" || a.Location() == "" || a.Kind() != b.Kind() || a.Location() != b.Location() {
		t.Errorf("two backends of one store are %s at %s, and %s at %s", a.Kind(), a.Location(), b.Kind(), b.Location())
	}
	if other := backends.at(t, backends.New(t)); other.Kind() != a.Kind() || other.Location() == a.Location() {
		t.Errorf("another store is %s at %s, the first %s at %s", other.Kind(), other.Location(), a.Kind(), a.Location())
	}
	if again := backends.at(t, a.Location()); again.Location() != a.Location() {
		t.Errorf("the backend of %s has the location %s", a.Location(), again.Location())
	}
}

func testOpenAgain(t *testing.T, backends Backends, location string) {
	const key = "agent:main:x"
	var secrets [2][]byte
	for i := range secrets {
		db, err := backends.at(t, location).Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		secrets[i] = db.Secret()
		if i == 0 {
			put(t, db, &abi.Session{Key: key})
		} else if got, err := getOne(db, key); err != nil || got == nil {
			t.Errorf("after reopening: %v, %v", got, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(secrets[0], secrets[1]) {
		t.Error("the reopened store has another secret")
	}
}

// getOne reads a session from a new snapshot.
func getOne(s store.Store, key string) (_ *abi.Session, err error) {
	v, err := s.Snapshot(context.Background())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	return v.Get(context.Background(), key)
}

func testOneOwner(t *testing.T, backends Backends, location string) {
	first, second := backends.at(t, location).Ownership(), backends.at(t, location).Ownership()
	owned := acquire(t, first)
	wantOwned(t, first)
	wantOwned(t, second)
	acquire(t, backends.at(t, backends.New(t)).Ownership()) // of another store
	for range 2 {
		if err := owned.Release(); err != nil {
			t.Errorf("release: %v", err)
		}
	}
	acquire(t, second)
	if err := owned.Release(); err != nil {
		t.Errorf("release a lock that another owner holds: %v", err)
	}
	wantOwned(t, first)
}

func testAcquireConcurrently(t *testing.T, backends Backends, location string) {
	o := backends.at(t, location).Ownership()
	const n = 16
	var all [n]store.HeldLock
	var errs [n]error
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { all[i], errs[i] = o.Acquire(context.Background()) })
	}
	group.Wait()
	owners := 0
	for i, err := range errs {
		switch {
		case err == nil:
			owners++
			if err := all[i].Release(); err != nil {
				t.Error(err)
			}
		case !errors.Is(err, store.ErrOwned):
			t.Errorf("acquire: %v; want ErrOwned", err)
		}
	}
	if owners != 1 {
		t.Errorf("%d of %d are owners at the same time", owners, n)
	}
}

func testAcquireCanceled(t *testing.T, backends Backends, location string) {
	o := backends.at(t, location).Ownership()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := o.Acquire(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire: %v; want canceled", err)
	}
	if _, err := o.Notice(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("notice: %v; want canceled", err)
	}
	acquire(t, o)
}

func testOwnerOpens(t *testing.T, backends Backends, location string) {
	b := backends.at(t, location)
	owned := acquire(t, b.Ownership())
	db, err := b.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := owned.Publish([]byte("open")); err != nil {
		t.Error(err)
	}
	put(t, db, &abi.Session{Key: "agent:main:x"})
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	wantOwned(t, backends.at(t, location).Ownership())
	wantNotice(t, b.Ownership(), "open")
}

func testNotices(t *testing.T, backends Backends, location string) {
	first, second := backends.at(t, location).Ownership(), backends.at(t, location).Ownership()
	wantNotice(t, second, "")
	owned := acquire(t, first)
	wantNotice(t, second, "")
	for _, notice := range []string{strings.Repeat("long ", store.MaxNotice/5), "short", `{"a": "ü\u0000"}` + "\n", ""} {
		if err := owned.Publish([]byte(notice)); err != nil {
			t.Errorf("publish: %v", err)
		}
		wantNotice(t, second, notice)
	}
	if err := owned.Publish([]byte("kept")); err != nil {
		t.Error(err)
	}
	if err := owned.Publish(make([]byte, store.MaxNotice+1)); err == nil {
		t.Error("published more than MaxNotice")
	}
	wantNotice(t, second, "kept")
	if err := owned.Release(); err != nil {
		t.Error(err)
	}
	wantNotice(t, second, "")
	if err := owned.Publish([]byte("late")); err == nil {
		t.Error("published after the release")
	}
	wantNotice(t, second, "")
}

func testCompanionPath(t *testing.T, backends Backends, location string) {
	b := backends.at(t, location)
	one := b.Ownership().CompanionPath(".sock")
	if one == "" {
		return
	}
	if again := backends.at(t, location).Ownership().CompanionPath(".sock"); again != one {
		t.Errorf("the file is %s, and %s for another backend", one, again)
	}
	other, elsewhere := b.Ownership().CompanionPath(".other"), backends.at(t, backends.New(t)).Ownership().CompanionPath(".sock")
	if one == other || one == elsewhere || one == b.Location() {
		t.Errorf("the file is %s; with another suffix it is %s, for another store %s", one, other, elsewhere)
	}
	acquire(t, b.Ownership())
	if err := os.WriteFile(one, nil, 0o600); err != nil {
		t.Errorf("the owner: %v", err)
	}
}

func testOwnerEnds(t *testing.T, backends Backends, location string) {
	c := startOwner(t, location)
	o := backends.at(t, location).Ownership()
	wantOwned(t, o)
	wantNotice(t, o, c.notice())
	c.end()
	wantNotice(t, o, "")
	acquire(t, o)
}

func testOwnerKilled(t *testing.T, backends Backends, location string) {
	c := startOwner(t, location)
	o := backends.at(t, location).Ownership()
	wantOwned(t, o)
	c.kill()
	owned := acquire(t, o)
	wantNotice(t, o, c.notice()) // a killed owner leaves its notice
	if err := owned.Publish([]byte("next")); err != nil {
		t.Error(err)
	}
	wantNotice(t, o, "next")
}
