package recordingtest

import (
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/vector"
)

// Stage makes a vector's world, calls play with it, and takes it down. Instead of
// a world it may pass an error that says that the configuration is refused; other
// failures end the test.
type Stage func(t *testing.T, v *vector.Vector, play func(vector.World, error))

// Run runs each vector as a subtest of its id.
func Run(t *testing.T, vectors []*vector.Vector, stage Stage) {
	byID := map[string]*vector.Vector{}
	for _, v := range vectors {
		byID[v.ID] = v
	}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			answers, problems := perform(t, v, stage)
			if v.SameAs != "" {
				others, _ := perform(t, byID[v.SameAs], stage)
				problems = append(problems, vector.Same(answers, others, v.SameAs)...)
			}
			report(t, v, problems)
		})
	}
}

func perform(t *testing.T, v *vector.Vector, stage Stage) (answers []vector.Answer, problems []string) {
	played := false
	stage(t, v, func(w vector.World, refused error) {
		played = true
		answers, problems = vector.Play(v, w, refused)
	})
	if !played {
		problems = append(problems, "the vector was not played")
	}
	return answers, problems
}

func report(t *testing.T, v *vector.Vector, problems []string) {
	switch {
	case v.Gap == "":
		for _, p := range problems {
			t.Errorf("%s (%s)\n%s", p, v.About, v.File)
		}
	case len(problems) == 0:
		t.Errorf("%s passes, but is listed as a gap: %s", v.ID, v.Gap)
	default:
		t.Logf("known gap: %s", v.Gap)
	}
}
