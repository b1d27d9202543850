package vector_test

import (
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/vector"
	"github.com/parley-wasm/parley/testdata/vectors"
)

// sections lists the sections of the specification that the vectors must cover.
var sections = strings.Fields(`
	S0.1 S0.2 S0.3
	S1.1 S1.2 S1.3 S1.4 S1.5 S1.6 S1.7
	S2.1 S2.2 S2.3 S2.4 S2.5
	S3.1 S3.2 S3.3 S3.4
	S4.1 S4.2 S4.3 S4.4 S4.5 S4.6 S4.7 S4.8
	S5.1 S5.2 S5.3 S5.4 S5.5 S5.6 S5.7 S5.8
	S6
	S7.1 S7.2 S7.3 S7.4
	S8.1 S8.2 S8.3
	S9`)

// uncovered maps each chapter that has no vectors to the reason.
var uncovered = map[string]string{
	"S10": "a vector cannot kill a process; the crash tests do",
}

func load(t *testing.T) []*vector.Vector {
	t.Helper()
	all, err := vector.Load(vectors.Files)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEverySectionHasVectors(t *testing.T) {
	count := map[string]int{}
	for _, v := range load(t) {
		for _, s := range v.Spec {
			count[s]++
		}
	}
	known := map[string]bool{}
	for _, s := range sections {
		known[s] = true
		if count[s] == 0 {
			t.Errorf("%s has no vector", s)
		}
	}
	for s := range count {
		chapter, _, _ := strings.Cut(s, ".")
		if reason, listed := uncovered[chapter]; listed {
			t.Errorf("%s has vectors, but is listed as uncovered: %s", s, reason)
		} else if !known[s] {
			t.Errorf("%s is cited, but is not in the list of sections", s)
		}
	}
	for _, s := range sections {
		t.Logf("%-5s %d", s, count[s])
	}
}

func TestVectorsCiteTheirOwnSection(t *testing.T) {
	for _, v := range load(t) {
		own, _, _ := strings.Cut(v.ID, "/")
		cited := false
		for _, s := range v.Spec {
			cited = cited || s == own || strings.HasPrefix(s, own+".")
		}
		if !cited {
			t.Errorf("%s: %s does not cite %s", v.File, v.ID, own)
		}
		if !strings.HasSuffix(v.About, ".") {
			t.Errorf("%s: %s: about is not a sentence: %q", v.File, v.ID, v.About)
		}
	}
}
