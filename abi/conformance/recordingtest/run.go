package recordingtest

import (
	"testing"

	"github.com/parley-wasm/parley/abi/conformance/vector"
)

// WithFixture creates the fixture of a vector, calls play with it, and closes it. If the
// vector's configuration is refused, WithFixture passes that error to play instead. Any
// other failure must end the test.
type WithFixture func(t *testing.T, v *vector.Vector, play func(vector.Fixture, error))

// Run runs each vector as a subtest that is named after the vector's id.
func Run(t *testing.T, vectors []*vector.Vector, withFixture WithFixture) {
	byID := map[string]*vector.Vector{}
	for _, v := range vectors {
		byID[v.ID] = v
	}
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			answers, problems := perform(t, v, withFixture)
			if v.SameAs != "" {
				others, _ := perform(t, byID[v.SameAs], withFixture)
				problems = append(problems, vector.Same(answers, others, v.SameAs)...)
			}
			report(t, v, problems)
		})
	}
}

func perform(t *testing.T, v *vector.Vector, withFixture WithFixture) (answers []vector.Answer, problems []string) {
	played := false
	withFixture(t, v, func(f vector.Fixture, refused error) {
		played = true
		answers, problems = vector.Play(v, f, refused)
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
