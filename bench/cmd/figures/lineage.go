package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
)

// The graph of the lineages: transforms in layers, each of which reads what some of the layer before have written.
const (
	lineageLayers  = 10
	lineageLayer   = 10_000 // transforms of a layer
	lineageReads   = 3      // artifacts that a transform reads
	lineageWalks   = 50
	lineageSources = 1_000_000 // what the transforms of the first layer read has the ids after it
	lineageWritten = 2_000_000 // what transform 1 writes has the next id
)

// lineageFigures measures how long walks through a graph of many transforms take.
func lineageFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		if err := l.lineage(ctx, out, database); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) lineage(ctx context.Context, out io.Writer, database string) (err error) {
	var settings []string
	address := ""
	if database == "PostgreSQL" {
		if address, err = l.database(ctx); err != nil {
			return err
		}
		settings = append(settings, "PARLEY_DATABASE_URL="+address)
	}
	server, err := l.start(ctx, settings...)
	if err != nil {
		return err
	}
	var session parley.Session
	err = server.do(ctx, "POST", "/v1/sessions", `{"visibility":"workspace"}`, &session)
	if err = errors.Join(err, server.Stop()); err != nil {
		return err
	}
	if err := fillLineage(ctx, server.dir, address, &session); err != nil {
		return err
	}
	again, err := l.startIn(ctx, server.dir, settings...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, again.end()) }()
	for _, walk := range []struct {
		what, query string
		of          int
	}{
		{"up, depth 10", "depth=10", lineageWritten + lineageLayers*lineageLayer},
		{"up through all layers", "depth=20", lineageWritten + lineageLayers*lineageLayer},
		{"down, depth 10", "depth=10&direction=down", lineageSources + 1},
		{"down through all layers", "depth=20&direction=down", lineageSources + 1},
	} {
		took := make([]time.Duration, lineageWalks)
		var found struct {
			Nodes, Edges []any
			Truncated    bool
		}
		before, err := l.spent(again, address)
		if err != nil {
			return err
		}
		for i := range took {
			// Another artifact each time: what stands beside the first ones is in no cache.
			path := fmt.Sprintf("/v1/artifacts/%s/lineage?%s", lineageID(walk.of-lineageSign(walk.of)*i), walk.query)
			began := time.Now()
			if err := again.do(ctx, "GET", path, "", &found); err != nil {
				return err
			}
			took[i] = time.Since(began)
		}
		after, err := l.spent(again, address)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d transforms, %s: %s over HTTP (bound 50 ms), the slowest of %d %s, CPU %s each; "+
			"the last: %d nodes, %d edges, truncated %v\n", database, lineageLayers*lineageLayer, walk.what,
			medianOf(took).Round(100*time.Microsecond), lineageWalks, took[len(took)-1].Round(100*time.Microsecond),
			((after - before) / lineageWalks).Round(100*time.Microsecond), len(found.Nodes), len(found.Edges),
			found.Truncated)
	}
	return nil
}

// spent is the CPU time of a server and of its database.
func (l *lab) spent(server *parleyRun, address string) (time.Duration, error) {
	took, err := server.CPU()
	if err != nil || address == "" {
		return took, err
	}
	more, err := l.postgresCPU()
	return took + more, err
}

// lineageSign is the direction in which the ids beside an artifact's exist: the last one's before it, the first
// source's after it.
func lineageSign(of int) int {
	if of > lineageWritten {
		return 1
	}
	return -1
}

func lineageID(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012x", n) }

// fillLineage writes the graph with one statement for each table: a hundred thousand turns would take hours.
func fillLineage(ctx context.Context, dir, address string, session *parley.Session) (err error) {
	in := dialect{
		id:   func(n string) string { return "unhex(printf('%032x', " + n + "))" },
		text: func(id parley.ID) string { return fmt.Sprintf("x'%x'", id[:]) },
		no:   "0", hash: "zeroblob(32)",
		series: "(WITH RECURSIVE n(%[1]s) AS (SELECT 1 UNION ALL SELECT %[1]s + 1 FROM n WHERE %[1]s < %[2]d) " +
			"SELECT %[1]s FROM n)",
	}
	var exec func(string) error
	if address == "" {
		db, err := sql.Open("sqlite", filepath.Join(dir, "parley.db"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		exec = func(statement string) error {
			_, err := db.ExecContext(ctx, statement)
			return err
		}
	} else {
		c, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close(ctx)) }()
		in = dialect{
			schema: "parley.",
			id:     func(n string) string { return "lpad(to_hex(" + n + "), 32, '0')::uuid" },
			text:   func(id parley.ID) string { return "'" + id.String() + "'::uuid" },
			series: "(SELECT %[1]s FROM generate_series(1, %[2]d) %[1]s) s%[1]s", no: "false",
			hash: `'\x` + strings.Repeat("00", 32) + `'::bytea`,
		}
		exec = func(statement string) error {
			_, err := c.Exec(ctx, statement)
			return err
		}
	}
	statements := in.statements(session)
	if address != "" {
		statements = append(append([]string{"SET ROLE parley_system"}, statements...), "RESET ROLE", "ANALYZE")
	}
	for _, statement := range statements {
		if err := exec(statement); err != nil {
			return fmt.Errorf("%w, in %s", err, parley.Clip(statement, 200))
		}
	}
	return nil
}

// dialect is how a database writes what the statements need.
type dialect struct {
	schema, series, no, hash string
	id                       func(n string) string  // of a number
	text                     func(parley.ID) string // an id
}

func (d *dialect) statements(session *parley.Session) []string {
	const (
		transforms = lineageLayers * lineageLayer
		artifact   = " (id, workspace_id, owner_id, visibility, kind, name, search_name, labels, version, newest, " +
			"content_hash, size, revision, created_at, updated_at) SELECT %s, %s, %s, 'workspace', 'markdown', " +
			"'prose', 'prose', '[]', 1, 1, %s, 9, 1, 1, 1 FROM %s"
		version = " (artifact_id, number, workspace_id, author_kind, author_name, content_hash, size, created_at, " +
			"transform_id) SELECT %s, 1, %s, 'agent', 'Writer', %s, 9, 1, %s FROM %s"
	)
	workspace, owner := d.text(session.WorkspaceID), d.text(session.OwnerID)
	i, ij := fmt.Sprintf(d.series, "i", transforms), fmt.Sprintf(d.series, "j", lineageReads)
	few := fmt.Sprintf(d.series, "i", lineageLayer)
	by := d.id("i")
	source, written := d.id(fmt.Sprint("i + ", lineageSources)), d.id(fmt.Sprint("i + ", lineageWritten))
	// A transform of the first layer reads sources; one of another reads what the layer before has written.
	read := d.id(fmt.Sprintf("(i * 7919 + j * 104729) %% %[1]d + 1 + CASE WHEN i <= %[1]d THEN %[2]d "+
		"ELSE %[3]d + ((i - 1) / %[1]d - 1) * %[1]d END", lineageLayer, lineageSources, lineageWritten))
	into := func(table, rest string, args ...any) string {
		return "INSERT INTO " + d.schema + table + fmt.Sprintf(rest, args...)
	}
	return []string{
		into("artifacts", artifact, source, workspace, owner, d.hash, few),
		into("artifacts", artifact, written, workspace, owner, d.hash, i),
		into("artifact_versions", version, source, workspace, d.hash, "NULL", few),
		into("artifact_versions", version, written, workspace, d.hash, by, i),
		into(
			"transforms",
			" (id, workspace_id, name, agent_id, instructions, model, parameters, cite, status, chunks, "+
				"session_id, turn_id, owner_id, created_by_id, node, created_at) SELECT %[1]s, %[2]s, 'rewrite', "+
				"%[1]s, 'x', '', '{}', %[3]s, 'completed', 1, %[4]s, %[1]s, %[5]s, %[5]s, '', 1 FROM %[6]s",
			by,
			workspace,
			d.no,
			d.text(session.ID),
			owner,
			i,
		),
		into("transform_inputs", " (transform_id, position, workspace_id, name, artifact_id, version, pointer) "+
			"SELECT %s, j, %s, '', %s, 1, '' FROM %s CROSS JOIN %s", by, workspace, read, i, ij),
		into("transform_outputs", " (transform_id, position, workspace_id, name, kind, title, artifact_id, creates, "+
			"version, conflict) SELECT %s, 1, %s, 'content', 'markdown', 'prose', %s, %s, 1, %[4]s FROM %[5]s",
			by, workspace, written, d.no, i),
	}
}
