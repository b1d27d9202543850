package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/parley-wasm/parley/host/internal/terminal"
)

// demoCmd runs a script of commands on temporary data.
type demoCmd struct {
	Dir string `default:"testdata/openclaw" placeholder:"DIR" help:"OpenClaw state directory to import; default: the repository's sample, ${default}."`
}

func (*demoCmd) Help() string {
	return "Run the demo in the repository, or name OpenClaw's state directory with --dir. The demo removes its databases at the end. With --json it prints the --json output of each command."
}

// demoFiles are the script and its input files. Each line of script.txt is a step:
//
//	# TEXT               an explanation
//	$ parley …           runs a command of this program; a shell filter may follow |
//	! parley …           like $, but the command must fail
//	$ parley serve … &   starts a command in a background process
//	$ kill [-9] %1       ends the background process
//	$ export NAME=VALUE  sets environment variables for the following steps
//	? PATTERN parley …   repeats a command until its output, which is not printed, matches
//
// Every other line is printed. $DEMO is the folder of the files and databases, $DIR the
// directory to import, and $CONFIG the configuration for the imported data.
//
//go:embed demo
var demoFiles embed.FS

//go:embed demo/script.txt
var demoScript string

// demo is the state of the running script.
type demo struct {
	*app
	expand     *strings.Replacer // replaces $DEMO, $DIR and $CONFIG
	steps      []*demoStep
	background *exec.Cmd // nil: no background process
}

// demoStep is the report of one command in the --json output.
type demoStep struct {
	Command  string          `json:"command"`
	ExitCode int             `json:"exitCode"`
	Result   json.RawMessage `json:"result,omitempty"` // the standard output, if it is JSON
	Note     string          `json:"note,omitempty"`   // the standard error
	Took     time.Duration   `json:"nanoseconds"`
}

func (c *demoCmd) Run(ctx context.Context, a *app) (err error) {
	if st, err := os.Stat(c.Dir); err != nil || !st.IsDir() {
		return fmt.Errorf("%s: not a directory: run the demo in the repository, or name OpenClaw's state directory with --dir", c.Dir)
	}
	// The cleanup must also run after a reader such as head has closed standard output.
	signal.Ignore(syscall.SIGPIPE)
	temp, err := os.MkdirTemp("", "parley-demo-")
	if err != nil {
		return err
	}
	defer func(all string) { err = errors.Join(err, os.RemoveAll(all)) }(temp)
	if err := os.CopyFS(temp, demoFiles); err != nil {
		return err
	}
	temp = filepath.Join(temp, "demo")
	config, err := filepath.Abs(cmp.Or(a.Config, filepath.Join(temp, "sample.json5")))
	if err != nil {
		return err
	}
	d := &demo{app: a, expand: strings.NewReplacer("$DEMO", temp, "$DIR", c.Dir, "$CONFIG", config)}
	defer func() { err = errors.Join(err, d.kill(syscall.SIGTERM)) }()
	for line := range strings.Lines(demoScript) {
		if err := d.step(ctx, strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSpace(line), err)
		}
	}
	if a.JSON {
		return a.printValue(map[string]any{"steps": d.steps})
	}
	return nil
}

// words matches the words of a command line. Quotes must enclose a whole word.
var words = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

// step executes one line of the script.
func (d *demo) step(ctx context.Context, line string) error {
	kind, command, _ := strings.Cut(line, " ")
	command, filter, _ := strings.Cut(command, " | ")
	args := words.FindAllString(command, -1)
	for i, arg := range args {
		args[i] = d.expand.Replace(strings.Trim(arg, `'"`))
	}
	mustFail := kind == "!"
	if mustFail {
		kind, line = "$", strings.Replace(line, "!", "$", 1)
	}
	line = d.expand.Replace(line)
	switch {
	case kind == "?":
		return d.until(ctx, args[0], args[2:])
	case d.JSON && kind != "$":
		return nil
	case kind == "#":
		d.out.Println(d.out.Bold(line))
		return nil
	case !d.JSON:
		d.out.Println(strings.Replace(line, "$", d.out.Accent("$"), 1))
	}
	switch {
	case kind != "$":
		return nil
	case args[0] == "export":
		var errs error
		for _, v := range args[1:] {
			name, value, _ := strings.Cut(v, "=")
			errs = errors.Join(errs, os.Setenv(name, value))
		}
		return errs
	case args[0] == "kill" && args[1] == "-9":
		return d.kill(syscall.SIGKILL)
	case args[0] == "kill":
		return d.kill(syscall.SIGTERM)
	case args[len(args)-1] == "&":
		return d.start(ctx, args[1:len(args)-1])
	}
	code, err := d.command(ctx, line, args[1:], filter)
	if err == nil && mustFail != (code != 0) {
		return fmt.Errorf("the command ended with exit code %d", code)
	}
	return err
}

// command runs a command of this program, prints its output, duration and exit code, and
// returns the exit code.
func (d *demo) command(ctx context.Context, line string, args []string, filter string) (code int, err error) {
	var stdout, stderr bytes.Buffer
	out := d.out.To(&stdout)
	if d.JSON || filter != "" {
		out = terminal.New(&stdout, d.getenv)
	}
	if d.JSON {
		args = append(args, "--json")
	}
	start := time.Now()
	code = d.newApp(out, &stderr).execute(ctx, args)
	took := time.Since(start)
	if ctx.Err() != nil {
		return code, ctx.Err()
	}
	if d.JSON {
		step := &demoStep{Command: strings.TrimPrefix(line, "$ "), ExitCode: code, Note: strings.TrimSpace(stderr.String()), Took: took}
		if json.Valid(stdout.Bytes()) {
			step.Result = stdout.Bytes()
		}
		d.steps = append(d.steps, step)
		return code, nil
	}
	if filter != "" {
		cmd := exec.CommandContext(ctx, "sh", "-c", filter)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = &stdout, d.out, d.err
		if err := cmd.Run(); err != nil {
			return code, err
		}
	}
	d.out.Printf("%s%s", &stdout, &stderr)
	end := fmt.Sprintf("%.1f ms", float64(took)/float64(time.Millisecond))
	if code != 0 {
		end = fmt.Sprintf("exit code %d, %s", code, end)
	}
	d.out.Println(d.out.Faint("(" + end + ")"))
	return code, nil
}

// newApp returns an app that runs another command.
func (d *demo) newApp(out *terminal.Output, stderr io.Writer) *app {
	return &app{stdin: strings.NewReader(""), getenv: d.getenv, out: out, err: terminal.New(stderr, d.getenv)}
}

// until repeats a command until its output matches the pattern.
func (d *demo) until(ctx context.Context, pattern string, args []string) error {
	want, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var text bytes.Buffer
		d.newApp(terminal.New(&text, d.getenv), &text).execute(ctx, args)
		if want.Match(text.Bytes()) {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; the last output is %s", ctx.Err(), &text)
		}
	}
}

// start starts a background process that runs a command of this program, and waits for its
// first line of output, which means that it is ready.
func (d *demo) start(ctx context.Context, args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if d.Plugin != "" {
		args = append(args, "--plugin", d.Plugin)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Args[0], cmd.Stderr = os.Args[0], os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("the gateway did not start: %w", err), cmd.Wait())
	}
	d.background = cmd
	if !d.JSON {
		d.out.Printf("%s", line)
	}
	return nil
}

// kill sends a signal to the background process, if there is one, and waits for its end.
func (d *demo) kill(s syscall.Signal) error {
	cmd := d.background
	if cmd == nil {
		return nil
	}
	d.background = nil
	if err := cmd.Process.Signal(s); err != nil {
		return err
	}
	err := cmd.Wait()
	if s == syscall.SIGKILL {
		return nil // Wait reports the signal as an error
	}
	return err
}
