package sqlite

import (
	"os"
	"strconv"
	"time"

	"example.org/parley"
)

// Care of the write-ahead log. SQLite moves it into the database at checkpointPages, but restarts it only in a moment
// without readers. The code below creates that moment when readers overlap or one stays.
const (
	logLimit       = 2 * logBytes           // above it, readers are asked to pause
	checkpointIdle = 2 * time.Second        // after this long without writes, the log is emptied
	idleLog        = 1 << 20                // only above this size, so that lease renewals alone do not trigger it
	readLimit      = 2 * time.Second        // a read older than this ends when the log must be emptied
	pauseLimit     = 250 * time.Millisecond // how long the writer waits for readers to pause
	pauseAgain     = time.Second            // between two attempts
)

// errEvicted is the error of a read that was ended because it kept the log from being emptied.
func errEvicted() error {
	return parley.Errorf(parley.CodeUnavailable, "this read took too long and was stopped; request a smaller page")
}

// watchLog empties the log once it exceeds its limit.
func (w *writer) watchLog() {
	size := w.logSize()
	if size <= logLimit || time.Since(w.paused) < pauseAgain {
		return
	}
	w.paused = time.Now()
	if !w.truncateLog() {
		w.store.log.Warn("the write-ahead log is large and could not be emptied yet", "bytes", size)
	}
}

// logSize returns the size of the log file in bytes, 0 if there is none.
func (w *writer) logSize() int64 {
	info, err := os.Stat(w.store.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// truncateLog moves the write-ahead log into the database and empties it while all readers pause; false if one did not
// pause within pauseLimit.
func (w *writer) truncateLog() bool {
	limit := time.NewTimer(pauseLimit)
	defer limit.Stop()
	old := time.Now().Add(-readLimit).UnixNano()
	for _, reader := range w.store.all {
		if since := reader.since.Load(); since != 0 && since < old {
			reader.evicted.Store(true)
		}
	}
	paused := make([]*conn, 0, len(w.store.all))
	defer func() {
		for _, reader := range paused {
			w.store.readers <- reader
		}
	}()
	for range w.store.all {
		select {
		case reader := <-w.store.readers:
			paused = append(paused, reader)
		case <-limit.C:
			return false
		}
	}
	return w.checkpoint()
}

// checkpoint empties the log; none of this process's readers is active. It does not wait for readers of other
// processes, such as a backup, because nobody could write meanwhile.
func (w *writer) checkpoint() bool {
	done := false
	if _, err := w.conn.run("PRAGMA busy_timeout = 0"); err != nil {
		w.store.log.Warn("the write-ahead log could not be emptied", "error", err)
		return false
	}
	defer func() {
		if _, err := w.conn.run("PRAGMA busy_timeout = " + strconv.Itoa(busyTimeoutMS)); err != nil {
			w.store.log.Warn("the wait for locks could not be set", "error", err)
		}
	}()
	if _, err := w.conn.one("PRAGMA wal_checkpoint(TRUNCATE)", func(r *row) error {
		done = r.int64() == 0
		return nil
	}); err != nil {
		w.store.log.Warn("the write-ahead log could not be emptied", "error", err)
		return false
	}
	return done
}
