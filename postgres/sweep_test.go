package postgres

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestSweepBrokenOff: a dead process is forgotten after its last claim. Until then its lease counts as expired, so the
// next process to look sweeps again.
func TestSweepBrokenOff(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn, ctx, process := connected(t, url), t.Context(), parley.NewID()
	if err := db.RegisterProcess(ctx, store.Process{ID: process, Name: "dead"}, -1); err != nil {
		t.Fatal(err)
	}
	run(
		t,
		conn,
		"SET ROLE parley_system",
		`INSERT INTO parley.heads (session_id, workspace_id, log_id, holder, turn_id, turn_status)
 VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '`+process.String()+
			`', gen_random_uuid(), 'running')`,
	)
	forgets := func() {
		t.Helper()
		b := system()
		b.write(forget)
		if err := db.send(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	forgets()
	if left, err := db.NextExpiry(ctx); err != nil || left > 0 {
		t.Errorf("with a remaining claim of a dead process the next lease expires in %s, %v", left, err)
	}
	run(t, conn, "UPDATE parley.heads SET holder = NULL")
	forgets()
	if left, err := db.NextExpiry(ctx); err != nil || left <= 0 {
		t.Errorf("without one it expires in %s, %v", left, err)
	}
	var dead int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM parley.deaths WHERE process_id = $1", process.String()).
		Scan(&dead); err != nil ||
		dead != 1 {
		t.Errorf("its death was recorded %d times, %v", dead, err)
	}
}
