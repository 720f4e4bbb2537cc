package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// The load of the documents: small changes of a large one.
const (
	documentBytes  = 100 << 10
	changedBytes   = 1 << 10
	manyVersions   = 10_000
	fewVersions    = 10
	documentReads  = 50
	documentsBlock = 64 // versions after which a content is kept whole
)

// documentFigures measures what many versions of a document take on disk and how long reading the newest takes.
func documentFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		if err := l.documents(ctx, out, database); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) documents(ctx context.Context, out io.Writer, database string) (err error) {
	dir, quiet := filepath.Join(l.dir, "documents"), slog.New(slog.DiscardHandler)
	open := func() (store.Store, error) { return sqlite.Open(ctx, dir, sqlite.Options{Log: quiet}) }
	size := func() (int64, error) { return bytesIn(dir) }
	if database == "PostgreSQL" {
		address, err := l.database(ctx)
		if err != nil {
			return err
		}
		open = func() (store.Store, error) { return postgres.Open(ctx, address, postgres.Options{Log: quiet}) }
		size = func() (int64, error) { return bytesOf(ctx, address) }
	}
	db, err := open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	used := func() (int64, error) { // closed, SQLite has everything in one file
		if err := db.Close(); err != nil {
			return 0, err
		}
		bytes, err := size()
		if err != nil {
			return 0, err
		}
		db, err = open()
		return bytes, err
	}
	workspace, err := db.Workspace(ctx, parley.DefaultWorkspace)
	if err != nil {
		return err
	}
	owner, err := db.LocalOwner(ctx, workspace)
	if err != nil {
		return err
	}
	few, _, err := writeDocument(ctx, db, owner, fewVersions)
	if err != nil {
		return err
	}
	before, err := used()
	if err != nil {
		return err
	}
	many, took, err := writeDocument(ctx, db, owner, manyVersions)
	if err != nil {
		return err
	}
	after, err := used()
	if err != nil {
		return err
	}
	scope := store.Scope{WorkspaceID: workspace}
	first, err := readTime(ctx, db, scope, few, fewVersions)
	if err != nil {
		return err
	}
	newest, err := readTime(ctx, db, scope, many, manyVersions)
	if err != nil {
		return err
	}
	var worst time.Duration
	for number := manyVersions - documentsBlock + 1; number <= manyVersions; number++ {
		one, err := readTime(ctx, db, scope, many, number)
		if err != nil {
			return err
		}
		worst = max(worst, one)
	}
	changes := float64(manyVersions * changedBytes)
	fmt.Fprintf(out, "%s: %d versions of %d KiB that change %d bytes each: %.1f× the changes on disk (bound 6×), "+
		"%s to write one\n", database, manyVersions, documentBytes>>10, changedBytes, float64(after-before)/changes,
		(took / manyVersions).Round(10*time.Microsecond))
	fmt.Fprintf(
		out,
		"  reading the newest: %s, of %d versions %s: %.2f× (bound 1.5×); the slowest of the last %d: %s\n",
		newest,
		fewVersions,
		first,
		float64(newest)/float64(first),
		documentsBlock,
		worst,
	)
	return nil
}

// writeDocument makes an artifact of random words, which compress like prose.
func writeDocument(
	ctx context.Context,
	db store.Store,
	owner parley.Principal,
	versions int,
) (id parley.ID, took time.Duration, err error) {
	random := rand.New(rand.NewPCG(1, uint64(versions))) //nolint:gosec // the same text each time
	text := proseOf(random, documentBytes)
	a, _, err := artifact.Create(ctx, db, store.NewArtifact{
		Artifact: parley.Artifact{
			ID: parley.NewID(), WorkspaceID: owner.WorkspaceID, OwnerID: owner.ID, Name: "prose",
			Kind: parley.ArtifactText, Visibility: parley.VisibilityPrivate,
		},
		Version: parley.ArtifactVersion{Author: owner.Author()},
		Edit:    store.Edit{ID: parley.NewID(), Name: parley.EditCreated},
	}, text)
	if err != nil {
		return a.ID, 0, err
	}
	began := time.Now()
	for n := 1; n < versions; n++ {
		text = slices.Clone(text)
		copy(text[random.IntN(len(text)-changedBytes):], proseOf(random, changedBytes))
		if _, _, err := artifact.Write(ctx, db, &artifact.Writing{
			Scope: store.Scope{WorkspaceID: owner.WorkspaceID}, ArtifactID: a.ID, Base: n, Content: text,
			Version: parley.ArtifactVersion{Author: owner.Author()},
			Edit:    store.Edit{ID: parley.NewID(), Name: parley.EditWritten},
		}); err != nil {
			return a.ID, 0, err
		}
	}
	return a.ID, time.Since(began), nil
}

// proseOf returns bytes of words of random letters.
func proseOf(random *rand.Rand, size int) []byte {
	text := make([]byte, size)
	for i := range text {
		if text[i] = byte('a' + random.IntN(26)); random.IntN(6) == 0 {
			text[i] = ' '
		}
	}
	return text
}

// readTime is the median time of reading a version.
func readTime(ctx context.Context, db store.Store, scope store.Scope, id parley.ID, number int) (time.Duration, error) {
	took := make([]time.Duration, documentReads)
	for i := range took {
		began := time.Now()
		if _, err := artifact.Content(ctx, db, scope, id, number); err != nil {
			return 0, err
		}
		took[i] = time.Since(began)
	}
	return medianOf(took), nil
}

// bytesIn is the size of a directory's files.
func bytesIn(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}

// bytesOf is the size of the tables of documents and their edits with their indexes.
func bytesOf(ctx context.Context, address string) (total int64, err error) {
	c, err := pgx.Connect(ctx, address)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	err = c.QueryRow(ctx, `SELECT sum(pg_total_relation_size('parley.' || name))::bigint
 FROM unnest(ARRAY['artifacts', 'artifact_versions', 'artifact_contents', 'transforms', 'transform_inputs',
  'transform_outputs']) name`).Scan(&total)
	return total, err
}
