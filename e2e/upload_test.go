package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver of database/sql

	"example.org/parley"
	"example.org/parley/client"
)

// count runs statements directly on a place's database, without the server, and returns the
// number that the last one reads.
func (p place) count(t *testing.T, statements ...string) (n int) {
	t.Helper()
	if p.database == "" {
		file, err := sql.Open("sqlite", filepath.Join(p.dir, "parley.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }() // nothing waits in it
		file.SetMaxOpenConns(1)
		last := len(statements) - 1
		for _, statement := range append([]string{"PRAGMA busy_timeout = 5000"}, statements[:last]...) {
			if _, err := file.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if err := file.QueryRowContext(t.Context(), statements[last]).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	connection, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.WithoutCancel(t.Context())) }() // the server notices
	last := len(statements) - 1
	for _, statement := range append([]string{"SET ROLE parley_system", "SET search_path = parley"},
		statements[:last]...) {
		if _, err := connection.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := connection.QueryRow(t.Context(), statements[last]).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// content is bytes that no other file has.
func content(size int) []byte {
	data := make([]byte, 0, size+sha256.Size)
	for sum := sha256.Sum256([]byte("parley")); len(data) < size; sum = sha256.Sum256(sum[:]) {
		data = append(data, sum[:]...)
	}
	return data[:size]
}

func checkFiles(t *testing.T, s *server, want int) {
	t.Helper()
	files, err := s.client.Files(t.Context(), client.FilesQuery{})
	if err != nil || len(files.Data) != want {
		t.Errorf("%d files are listed, %v; want %d", len(files.Data), err, want)
	}
}

// TestKilledUpload: a process that is killed in the middle of an upload leaves no file, and
// the received part is deleted once nobody can be sending it any more.
func TestKilledUpload(t *testing.T) { onEach(t, killedUpload) }

func killedUpload(t *testing.T, at place) {
	const chunks = "SELECT count(*) FROM blob_chunks"
	data := content(40 * parley.FileChunkBytes)
	s := startAt(t, at, "--lease", shortLease.String())
	reader, writer := io.Pipe()
	uploaded := make(chan error, 1)
	go func() { // ends with the writer's end
		_, err := s.client.UploadFile(t.Context(), reader, client.UploadFileQuery{Name: "half"})
		_ = reader.Close() // nobody reads any more
		uploaded <- err
	}()
	if _, err := writer.Write(data); err != nil { // all but its end
		t.Fatal(err)
	}
	deadline := time.Now().Add(turnDeadline)
	for at.count(t, chunks) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("no part of the upload was kept while it arrived")
		}
	}
	s.kill()
	_ = writer.CloseWithError(io.ErrUnexpectedEOF) // otherwise the sender would wait for more
	if err := <-uploaded; err == nil {
		t.Fatal("the broken upload got a success response")
	}
	arrived := at.count(t, chunks)
	if arrived == 0 || arrived > 40 {
		t.Fatalf("%d chunks had arrived", arrived)
	}

	s = startAt(t, at, "--lease", shortLease.String())
	checkFiles(t, s, 0)
	whole, err := s.client.UploadFile(t.Context(), bytes.NewReader(data), client.UploadFileQuery{Name: "whole"})
	if err != nil || whole.SHA256 != sha256.Sum256(data) {
		t.Fatalf("the repeated upload returns %+v, %v", whole, err)
	}
	s.kill()
	at.count(
		t,
		"UPDATE blobs SET touched_at = touched_at - 3600000 WHERE state = 'open'",
		"UPDATE outbox SET due_at = 0",
		"SELECT 1",
	) // an hour later
	s = startAt(t, at, "--lease", shortLease.String())
	for deadline := time.Now().Add(turnDeadline); at.count(t, chunks) != 40; {
		if time.Now().After(deadline) {
			t.Fatalf("%d chunks are left of 40 that a file has", at.count(t, chunks))
		}
	}
	checkFiles(t, s, 1)
	back, err := s.client.FileContent(t.Context(), whole.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = back.Close() }() // it was read
	if got, err := io.ReadAll(back); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes come back, %v", len(got), err)
	}
	if blobs := at.count(t, "SELECT count(*) FROM blobs"); blobs != 1 {
		t.Errorf("%d blobs are left", blobs)
	}
	s.terminate()
}

// TestUploadToAFullDisk is failure 38 during an upload: it is refused with 507 and leaves no
// file, reads continue, and once there is room again uploads work.
func TestUploadToAFullDisk(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, "24m")
	s := start(t, filepath.Join(dir, "data"))
	small := content(100_000)
	kept, err := s.client.UploadFile(t.Context(), bytes.NewReader(small), client.UploadFileQuery{Name: "small"})
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	fill(t, ballast)
	info, err := os.Stat(ballast)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(ballast, info.Size()-3<<20); err != nil { // room for a part of it
		t.Fatal(err)
	}
	if _, err := s.client.UploadFile(
		t.Context(),
		bytes.NewReader(content(10<<20)),
		client.UploadFileQuery{Name: "large"},
	); parley.ErrorCode(
		err,
	) != parley.CodeStorageFull {
		t.Fatalf("an upload without enough room: %v", err)
	}
	checkFiles(t, s, 1)
	back, err := s.client.FileContent(t.Context(), kept.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = back.Close() }() // it was read
	if got, err := io.ReadAll(back); err != nil || !bytes.Equal(got, small) {
		t.Errorf("with a full disk %d bytes come back, %v", len(got), err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(turnDeadline)
	for {
		_, err := s.client.UploadFile(
			t.Context(),
			bytes.NewReader(content(2<<20)),
			client.UploadFileQuery{Name: "later"},
		)
		if err == nil {
			break
		}
		if parley.ErrorCode(err) != parley.CodeStorageFull || time.Now().After(deadline) {
			t.Fatalf("with room again: %v", err)
		}
	}
	checkFiles(t, s, 2)
	s.terminate()
}
