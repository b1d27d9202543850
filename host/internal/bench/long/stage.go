package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// stage is a verb of build.sh, with the arguments for its full numbers of repetitions.
type stage struct {
	verb   string
	args   []string
	seeded bool // the verb has the flag -seed
}

var stages = []stage{
	{verb: "crash", args: []string{"-kills", "500", "-spawn-kills", "300"}, seeded: true},
	{verb: "swaps", args: []string{"-swaps", "1000"}},
	{verb: "soak", args: []string{"-steps", "1000000"}},
	{verb: "fuzz", args: []string{"60"}},
	{verb: "bench"},
	{verb: "conform"},
	{verb: "repro"},
}

func names() (all []string) {
	for _, s := range stages {
		all = append(all, s.verb)
	}
	return all
}

// run runs the stage and returns its entry for the log.
func (s stage) run(ctx context.Context, seed uint64) *entry {
	args := append([]string{s.verb}, s.args...)
	start := time.Now()
	e := &entry{Date: start.UTC().Format(time.RFC3339), Stage: s.verb, Outcome: passed, Counts: map[string]int64{}}
	if s.seeded {
		e.Seed = &seed
		args = append(args, "-seed", strconv.FormatUint(seed, 10))
	}
	fmt.Println("=== ./build.sh", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, "./build.sh", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := count(cmd, e.Counts); err != nil {
		fmt.Fprintf(os.Stderr, "long: %s: %v\n", s.verb, err)
		e.Outcome = failed
	}
	e.Seconds = time.Since(start).Round(time.Second).Seconds()
	return e
}

// count runs a command, prints its output, and adds up its summaries.
func count(cmd *exec.Cmd, counts map[string]int64) error {
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := addSummaries(counts, out); err != nil {
		_, _ = io.Copy(io.Discard, out) // so that the command can end
		_ = cmd.Wait()
		return err
	}
	return cmd.Wait()
}

// addSummaries copies text to the standard output, and adds the numbers in its summary
// lines to counts.
func addSummaries(counts map[string]int64, text io.Reader) error {
	for lines := bufio.NewReader(text); ; {
		line, err := lines.ReadString('\n')
		if summary, ok := strings.CutPrefix(line, "summary "); ok {
			found := map[string]int64{}
			if err := json.Unmarshal([]byte(summary), &found); err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			for name, n := range found {
				counts[name] += n
			}
		}
		fmt.Print(line)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
