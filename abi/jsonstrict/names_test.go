package jsonstrict

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/jsonappend"
)

// collidingNames returns names of 16 printable characters that have the same hash, as an
// attacker could construct them.
func collidingNames(n int) []string {
	const target = 0x1234567890ABCDEF
	start := uint64(seed * 16 % (1 << 64))
	names := make([]string, 0, n)
	for first := uint64(0); len(names) < n; first++ {
		var b [16]byte
		for i := range 8 {
			b[i] = 'a' + byte(first>>(4*i)&15)
		}
		second := mix(start^jsonappend.Load64(b[:])) ^ target
		ok := true
		for i := range 8 {
			c := byte(second >> (8 * i))
			ok = ok && c >= 0x20 && c < 0x7F && c != '"' && c != '\\'
			b[8+i] = c
		}
		if ok {
			names = append(names, string(b[:]))
		}
	}
	return names
}

func object(names []string) []byte {
	doc := []byte{'{'}
	for i, n := range names {
		if i > 0 {
			doc = append(doc, ',')
		}
		doc = append(append(append(doc, '"'), n...), `":0`...)
	}
	return append(doc, '}')
}

func TestCollisions(t *testing.T) {
	names := collidingNames(500)
	for _, n := range names {
		if hash([]byte(n)) != hash([]byte(names[0])) {
			t.Fatalf("%q and %q do not collide", n, names[0])
		}
	}
	for _, n := range []int{10, smallObject, 500} {
		if err := Check(object(names[:n])); err != nil {
			t.Error(err)
		}
		twice := append(names[:n:n], names[n/2])
		if err := Check(object(twice)); !errors.Is(err, abi.InvalidArgs) {
			t.Errorf("%d names, one twice: %v", n, err)
		}
		got, report, err := Normalize(nil, object(twice))
		want := object(append(append(names[:n/2:n/2], names[n/2+1:n]...), names[n/2]))
		if err != nil || report.Duplicates != 1 || string(got) != string(want) {
			t.Errorf("%d names, one twice: %v, %v", n, report, err)
		}
	}
}

func TestTooLong(t *testing.T) {
	if err := checkLen(MaxLen); err != nil {
		t.Error(err)
	}
	if err := checkLen(MaxLen + 1); err == nil || err.Error() != "byte 536870912: document is longer than 512 MiB" {
		t.Error(err)
	}
}

// TestHashDistribution checks that similar names fall into different buckets. With
// random hashes, 4096 names leave 1507 of 4096 buckets empty.
func TestHashDistribution(t *testing.T) {
	for _, form := range []func(i int) string{
		func(i int) string { return string([]byte{byte(i), byte(i >> 8)}) },
		func(i int) string { return string([]byte{'n', 'a', 'm', 'e', byte(i), byte(i >> 8)}) },
		func(i int) string { return "member" + string([]byte{byte(i), byte(i >> 8)}) + "of a long name" },
		func(i int) string { return string(make([]byte, i)) },
	} {
		buckets, masks := map[uint32]bool{}, map[uint32]int{}
		for i := range 4096 {
			h := hash([]byte(form(i)))
			buckets[h>>20] = true
			masks[h&63]++
		}
		if len(buckets) < 2300 {
			t.Errorf("names like %q fill only %d of 4096 buckets", form(77), len(buckets))
		}
		for bit, n := range masks {
			if n > 4096/64*2 {
				t.Errorf("%d of 4096 names like %q have bit %d", n, form(77), bit)
			}
		}
	}
}

// BenchmarkCollisions compares names with the same hash and names with different
// hashes.
func BenchmarkCollisions(b *testing.B) {
	const n = 20_000
	random := rand.New(rand.NewPCG(1, 2))
	spread := make([]string, n)
	for i := range spread {
		var name [16]byte
		for k := range name {
			name[k] = 'a' + byte(random.IntN(26))
		}
		spread[i] = string(name[:])
	}
	for _, c := range []struct {
		name string
		doc  []byte
	}{{"spread", object(spread)}, {"colliding", object(collidingNames(n))}} {
		b.Run("names="+c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				if err := Check(c.doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
