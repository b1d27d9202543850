package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/internal/relational"
)

// updateTogether starts all updates before the first of them may begin. It returns
// their errors and the work that each commit scheduled.
func updateTogether(ctx context.Context, t *testing.T, db *DB, fns ...func(store.Tx) error) (errs []error, commits [][]store.Due) {
	t.Helper()
	db.Subscribe(func(d []store.Due) { commits = append(commits, d) })
	errs = make([]error, len(fns))
	db.writer.turn <- struct{}{}
	for i, fn := range fns {
		go func() {
			err := errors.New("its goroutine ended")
			defer func() { errs[i] = err }()
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panicked: %v", p)
				}
			}()
			err = db.Update(ctx, fn)
		}()
		synctest.Wait() // keeps the order of the updates
	}
	<-db.writer.turn
	synctest.Wait()
	return errs, commits
}

// inBubble runs a test with a database inside a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, db *DB)) {
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(context.Background(), filepath.Join(t.TempDir(), "parley.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		test(t, db)
	})
}

// scheduleRun returns an update that schedules the run with this id.
func scheduleRun(id string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Schedule(store.KindRun, id, 0) }
}

// scheduled returns the ids of the scheduled runs.
func scheduled(t *testing.T, db *DB) string {
	t.Helper()
	v, err := db.View(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	due, err := v.Due(context.Background(), store.KindRun)
	if err != nil {
		t.Fatal(err)
	}
	return idsOf(due)
}

func idsOf(due []store.Due) string {
	var all []string
	for _, d := range due {
		all = append(all, d.ID)
	}
	return strings.Join(all, " ")
}

func TestGroup(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	inBubble(t, func(t *testing.T, db *DB) {
		errs, commits := updateTogether(t.Context(), t, db,
			scheduleRun("a"),
			func(tx store.Tx) error { return errors.Join(tx.Schedule(store.KindRun, "b", 0), refused) },
			scheduleRun("c"),
			func(tx store.Tx) error { panic(errors.Join(tx.Schedule(store.KindRun, "d", 0), refused)) },
			func(tx store.Tx) error { runtime.Goexit(); return nil }, // as t.Fatal does
			scheduleRun("f"),
		)
		for i, want := range []string{"", "refused", "", "panicked: refused", "its goroutine ended", ""} {
			if got := fmt.Sprint(errs[i]); got != want && !(want == "" && errs[i] == nil) {
				t.Errorf("update %d: %q; want %q", i, got, want)
			}
		}
		if len(commits) != 1 || idsOf(commits[0]) != "a c f" {
			t.Errorf("the commits scheduled %v; want one commit of a, c and f", commits)
		}
		if got := scheduled(t, db); got != "a c f" {
			t.Errorf("%q is stored; want a, c and f", got)
		}
	})
}

// TestGroupBound starts more updates than one commit may include.
func TestGroupBound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		var fns []func(store.Tx) error
		for i := range 2*maxGroup + 10 {
			fns = append(fns, scheduleRun(fmt.Sprint(i)))
		}
		errs, commits := updateTogether(t.Context(), t, db, fns...)
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		var sizes []int
		for _, c := range commits {
			sizes = append(sizes, len(c))
		}
		if want := []int{maxGroup, maxGroup, 10}; !slices.Equal(sizes, want) {
			t.Errorf("commits of %v updates; want %v", sizes, want)
		}
	})
}

// TestGroupFull fills the database in the middle of a group. The update that fills it
// fails, even if it ignores the error. The other updates are committed.
func TestGroupFull(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		limitPages(t, db, 20)
		runs := 0
		errs, _ := updateTogether(t.Context(), t, db,
			func(tx store.Tx) error { runs++; return scheduleRun("a")(tx) },
			func(tx store.Tx) error {
				if err := scheduleRun("b")(tx); err != nil {
					return err
				}
				_ = tx.PutRun(&store.Run{ID: "big", Message: strings.Repeat("x", 1<<20)})
				_ = tx.Schedule(store.KindRun, "by itself", 0) // must not be committed separately
				return nil
			},
			scheduleRun("c"),
		)
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the updates that fit: %v, %v", errs[0], errs[2])
		}
		if err := errs[1]; !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), db.path) {
			t.Errorf("the update that does not fit: %v", err)
		}
		if got := scheduled(t, db); got != "a c" {
			t.Errorf("%q is stored; want a and c", got)
		}
		if runs != 2 {
			t.Errorf("the first update ran %d times; want 2, because SQLite ends the shared transaction", runs)
		}
		// Updates succeed again when the database may grow.
		limitPages(t, db, 10_000)
		if err := db.Update(context.Background(), func(tx store.Tx) error {
			return tx.PutRun(&store.Run{ID: "big", Message: strings.Repeat("x", 1<<20)})
		}); err != nil {
			t.Errorf("an update when the database may grow: %v", err)
		}
	})
}

// limitPages lets the database grow by this many pages.
func limitPages(t *testing.T, db *DB, more int) {
	t.Helper()
	var pages int
	if _, err := db.writer.Row(context.Background(), relational.Fixed("PRAGMA page_count"), nil, &pages); err != nil {
		t.Fatal(err)
	}
	if err := db.writer.Exec(context.Background(), relational.Fixed(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more))); err != nil {
		t.Fatal(err)
	}
}

// TestGroupCommitFails makes the commit itself fail, by a deferred foreign key. No
// update of the group is kept.
func TestGroupCommitFails(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		const table = relational.Fixed("CREATE TABLE late (a INTEGER REFERENCES marks (name) DEFERRABLE INITIALLY DEFERRED)")
		if err := db.writer.Exec(context.Background(), table); err != nil {
			t.Fatal(err)
		}
		errs, commits := updateTogether(t.Context(), t, db, scheduleRun("a"), func(store.Tx) error {
			return db.writer.Exec(context.Background(), relational.Fixed("INSERT INTO late (a) VALUES (1)"))
		}, scheduleRun("c"))
		for i, err := range errs {
			if err == nil || !strings.Contains(err.Error(), "commit") {
				t.Errorf("update %d: %v; want the error of the commit", i, err)
			}
		}
		if got := scheduled(t, db); got != "" || len(commits) != 0 {
			t.Errorf("%q is stored, subscribers were notified of %v; want neither", got, commits)
		}
		if err := db.Update(context.Background(), scheduleRun("later")); err != nil {
			t.Errorf("the next update: %v", err)
		}
	})
}

// TestGroupCanceled cancels the context of an update that is in a group but has not
// begun. The update fails.
func TestGroupCanceled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		ctx, cancel := context.WithCancel(context.Background())
		begun, proceed, first, second := make(chan struct{}), make(chan struct{}), make(chan error, 1), make(chan error, 1)
		db.writer.turn <- struct{}{}
		go func() {
			first <- db.Update(context.Background(), func(tx store.Tx) error {
				close(begun)
				<-proceed
				return scheduleRun("a")(tx)
			})
		}()
		synctest.Wait()
		go func() { second <- db.Update(ctx, scheduleRun("b")) }()
		synctest.Wait()
		<-db.writer.turn
		<-begun
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the second update: %v; want canceled", err)
		}
		close(proceed)
		if err := <-first; err != nil {
			t.Errorf("the first update: %v", err)
		}
		if got := scheduled(t, db); got != "a" {
			t.Errorf("%q is stored; want a", got)
		}
	})
}

// TestGroupCanceledTooLate cancels the contexts of updates that have begun and must run
// again because another update failed. They are committed.
func TestGroupCanceledTooLate(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		limitPages(t, db, 20)
		ctx, cancel := context.WithCancel(context.Background())
		const n = 16
		runs := 0
		var fns []func(store.Tx) error
		for i := range n {
			fns = append(fns, func(tx store.Tx) error { runs++; return scheduleRun(fmt.Sprint(i))(tx) })
		}
		errs, _ := updateTogether(ctx, t, db, append(fns,
			func(tx store.Tx) error {
				cancel()
				return tx.PutRun(&store.Run{ID: "big", Message: strings.Repeat("x", 1<<20)})
			},
			scheduleRun("late"),
		)...)
		if err := errors.Join(errs[:n]...); runs != 2*n || err != nil || !errors.Is(errs[n+1], context.Canceled) {
			t.Errorf("the updates that had begun ran %d times: %v; the last one: %v; want %d runs, and canceled", runs, err, errs[n+1], 2*n)
		}
		if got := len(strings.Fields(scheduled(t, db))); got != n {
			t.Errorf("%d updates are stored; want %d", got, n)
		}
	})
}

// TestCloseAnswersAll closes a database while updates wait for it.
func TestCloseAnswersAll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		const n = 20
		errs := make(chan error, n)
		closed := make(chan error, 1)
		ran := 0
		db.writer.turn <- struct{}{}
		for i := range n {
			if i == n/2 {
				go func() { closed <- db.Close() }()
			} else {
				go func() {
					errs <- db.Update(context.Background(), func(tx store.Tx) error { ran++; return scheduleRun(fmt.Sprint(i))(tx) })
				}()
			}
			synctest.Wait()
		}
		<-db.writer.turn
		synctest.Wait()
		if err := <-closed; err != nil {
			t.Errorf("close: %v", err)
		}
		answered := 0
		for range n - 1 {
			switch err := <-errs; {
			case err == nil:
				answered++
			case !errors.Is(err, errClosed):
				t.Errorf("a waiting update: %v; want errClosed", err)
			}
		}
		if answered != ran {
			t.Errorf("%d updates ran, %d succeeded", ran, answered)
		}
		if err := db.Update(context.Background(), scheduleRun("late")); !errors.Is(err, errClosed) {
			t.Errorf("an update of a closed database: %v", err)
		}
		again, err := Open(context.Background(), db.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if got := len(strings.Fields(scheduled(t, again))); got != answered {
			t.Errorf("%d updates are stored, %d succeeded", got, answered)
		}
	})
}

// TestLoadAmongUpdates starts loads and updates in turn. They run in the same order.
func TestLoadAmongUpdates(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, db *DB) {
		db.writer.turn <- struct{}{}
		var order []string
		for _, name := range []string{"load 1", "a", "b", "load 2"} {
			go func() {
				var err error
				if strings.HasPrefix(name, "load") {
					err = db.Load(context.Background(), func(b store.Batch) error { order = append(order, name); return b.SetBookmark(name, "x") })
				} else {
					err = db.Update(context.Background(), func(tx store.Tx) error { order = append(order, name); return scheduleRun(name)(tx) })
				}
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}()
			synctest.Wait()
		}
		<-db.writer.turn
		synctest.Wait()
		if got := strings.Join(order, ", "); got != "load 1, a, b, load 2" {
			t.Errorf("the order of writes is %s", got)
		}
	})
}
