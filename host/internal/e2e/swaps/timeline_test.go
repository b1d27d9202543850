package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var line timeline
		zero := time.Now()
		at := func(s int) time.Time { return zero.Add(time.Duration(s) * time.Second) }
		line.begin(builtIn)
		line.end()
		time.Sleep(10 * time.Second)
		line.begin(1) // from 10
		time.Sleep(5 * time.Second)
		line.end() // builtIn until 15
		time.Sleep(5 * time.Second)
		line.begin(2) // from 20, without an end
		for _, c := range []struct {
			build, from, until int
			want               bool
		}{
			{builtIn, 1, 2, true}, {builtIn, 14, 19, true}, {builtIn, 16, 19, false},
			{1, 1, 9, false}, {1, 9, 11, true}, {1, 16, 40, true}, {1, 30, 40, true},
			{2, 16, 19, false}, {2, 16, 21, true}, {3, 0, 40, false},
		} {
			if got := line.active(c.build, at(c.from), at(c.until)); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
		for _, c := range []struct {
			from, until int
			want        bool
		}{{9, 16, true}, {11, 16, false}, {9, 14, false}, {16, 40, false}, {0, 40, true}} {
			if got := line.swapped(at(c.from), at(c.until)); got != c.want {
				t.Errorf("swapped %+v: %v", c, got)
			}
		}
	})
}
