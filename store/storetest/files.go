package storetest

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testFiles(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"round trip":                           testFileRoundTrip,
		"the same bytes are kept once":         testFileSame,
		"a tool's result uses them":            testFileOfResult,
		"the same bytes finished at once":      testFileSameRace,
		"seen when whole":                      testFileUnfinished,
		"lists by age":                         testFileLists,
		"another workspace has none of it":     testFileScope,
		"seen by those who see a use":          testFileViewer,
		"a used file stays":                    testFileUsed,
		"an edited message uses others":        testFileEdited,
		"a message cannot use what is gone":    testFileGone,
		"deleting and posting at once":         testFileRace,
		"goes with the last session":           testFilePurged,
		"a thumbnail is kept with the bytes":   testFileThumbnail,
		"an upload that is over takes no more": testFileOver,
	})
}

// pieces returns an upload of several chunks.
func pieces(seed byte) [][]byte {
	return [][]byte{bytes.Repeat([]byte{seed}, parley.FileChunkBytes), {seed, 1, 2, 3}}
}

func (w *world) newFile(name string, data [][]byte) parley.File {
	all := slices.Concat(data...)
	return parley.File{
		ID:          parley.NewID(),
		WorkspaceID: w.scope.WorkspaceID,
		OwnerID:     w.owner.ID,
		BlobID:      parley.NewID(),
		Name:        name,
		MediaType:   "application/octet-stream",
		Size:        int64(len(all)),
		SHA256:      parley.HashOf(all),
	}
}

func (w *world) append(t reporter, blob parley.ID, data [][]byte) {
	t.Helper()
	for n, chunk := range data {
		must(t, "AppendUpload", w.store.AppendUpload(w.ctx, w.scope.WorkspaceID, blob, n, chunk))
	}
}

// upload creates a file.
func (w *world) upload(t reporter, name string, data [][]byte) parley.File {
	t.Helper()
	file := w.newFile(name, data)
	w.append(t, file.BlobID, data)
	made, _, err := w.store.FinishUpload(w.ctx, file, parley.Quota{})
	must(t, "FinishUpload", err)
	return made
}

// sayFiles returns a user message with files that starts no turn.
func (w *world) sayFiles(ids ...parley.ID) store.NewMessage {
	return w.say("", func(m *store.NewMessage) { m.TurnID, m.Content = parley.ID{}, naming(ids...) })
}

func naming(ids ...parley.ID) json.RawMessage {
	user := parley.UserContent{Text: "look"}
	for _, id := range ids {
		user.Files = append(user.Files, id.String())
	}
	content, err := parley.EncodeContent(user)
	if err != nil {
		panic(err) // text of the tests
	}
	return content
}

func testFileRoundTrip(t *testing.T, w *world) {
	data := pieces('a')
	file := w.newFile("report.bin", data)
	file.Width, file.Height = 640, 480
	w.append(t, file.BlobID, data)
	made, isNew, err := w.store.FinishUpload(w.ctx, file, parley.Quota{})
	must(t, "FinishUpload", err)
	file.CreatedAt = made.CreatedAt
	if diff := cmp.Diff(file, made); diff != "" || !isNew || made.CreatedAt == 0 {
		t.Errorf("new: %t (-want +got):\n%s", isNew, diff)
	}
	got, err := w.store.File(w.ctx, w.scope, file.ID)
	must(t, "File", err)
	if diff := cmp.Diff(made, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for n, want := range data {
		chunk, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, file.BlobID, n)
		must(t, "FileChunk", err)
		if !bytes.Equal(chunk, want) {
			t.Errorf("chunk %d: %d bytes differ from the uploaded ones (%d)", n, len(chunk), len(want))
		}
	}
	_, err = w.store.FileChunk(w.ctx, w.scope.WorkspaceID, file.BlobID, len(data))
	refused(t, "a chunk after the end", err, parley.CodeNotFound)
	must(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, file.ID))
	_, err = w.store.File(w.ctx, w.scope, file.ID)
	refused(t, "File once deleted", err, parley.CodeNotFound)
	w.drainOutbox(t)
	_, err = w.store.FileChunk(w.ctx, w.scope.WorkspaceID, file.BlobID, 0)
	refused(t, "FileChunk once deleted", err, parley.CodeNotFound)
	refused(t, "DeleteFile twice", w.store.DeleteFile(w.ctx, w.scope, file.ID), parley.CodeNotFound)
}

func testFileSame(t *testing.T, w *world) {
	data := pieces('a')
	first := w.upload(t, "a.bin", data)
	again := w.newFile("a.bin", data)
	w.append(t, again.BlobID, data)
	got, isNew, err := w.store.FinishUpload(w.ctx, again, parley.Quota{})
	must(t, "FinishUpload", err)
	if diff := cmp.Diff(first, got); diff != "" || isNew {
		t.Errorf("the same name and bytes: new %t (-want +got):\n%s", isNew, diff)
	}
	other := w.upload(t, "b.bin", data)
	if other.ID == first.ID || other.BlobID != first.BlobID || other.Name != "b.bin" {
		t.Errorf("another name for the same bytes: %+v, beside %+v", other, first)
	}
	w.drainOutbox(t)
	must(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, first.ID))
	w.drainOutbox(t)
	if _, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, other.BlobID, 1); err != nil {
		t.Errorf("the bytes went with the first of two files: %v", err)
	}
	must(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, other.ID))
	w.drainOutbox(t)
	_, err = w.store.FileChunk(w.ctx, w.scope.WorkspaceID, other.BlobID, 1)
	refused(t, "the bytes after the last file", err, parley.CodeNotFound)
	back := w.upload(t, "a.bin", data)
	if _, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, back.BlobID, 1); err != nil {
		t.Errorf("uploaded again: %v", err)
	}
}

func testFileSameRace(t *testing.T, w *world) {
	const many = 8
	data := pieces('r')
	files := make([]parley.File, many)
	for i := range files {
		files[i] = w.newFile("same.bin", data)
		w.append(t, files[i].BlobID, data)
	}
	var group sync.WaitGroup
	made := make([]parley.File, many)
	errs := make([]error, many)
	for i := range files {
		group.Go(func() { made[i], _, errs[i] = w.store.FinishUpload(w.ctx, files[i], parley.Quota{}) })
	}
	group.Wait()
	for i := range made {
		must(t, "FinishUpload", errs[i])
		if made[i].ID != made[0].ID {
			t.Errorf("two files of one name and the same bytes: %s, %s", made[0].ID, made[i].ID)
		}
	}
	w.drainOutbox(t)
	if _, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, made[0].BlobID, 0); err != nil {
		t.Errorf("the shared bytes: %v", err)
	}
}

func testFileUnfinished(t *testing.T, w *world) {
	data := pieces('a')
	file := w.newFile("a.bin", data)
	w.append(t, file.BlobID, data)
	if files, err := w.store.Files(w.ctx, w.scope, store.FileQuery{}); err != nil || len(files) > 0 {
		t.Errorf("an unfinished upload is listed: %v, %v", files, err)
	}
	_, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, file.BlobID, 0)
	refused(t, "FileChunk of an unfinished upload", err, parley.CodeNotFound)
	w.drainOutbox(t)
	if _, _, err := w.store.FinishUpload(w.ctx, file, parley.Quota{}); err != nil {
		t.Errorf("the outbox removed an upload under way: %v", err)
	}
}

func testFileOver(t *testing.T, w *world) {
	data := pieces('a')
	file := w.newFile("a.bin", data)
	w.append(t, file.BlobID, data)
	must(t, "AbandonUpload", w.store.AbandonUpload(w.ctx, w.scope.WorkspaceID, file.BlobID))
	refused(
		t,
		"AppendUpload",
		w.store.AppendUpload(w.ctx, w.scope.WorkspaceID, file.BlobID, 2, []byte("x")),
		parley.CodeConflict,
	)
	_, _, err := w.store.FinishUpload(w.ctx, file, parley.Quota{})
	refused(t, "FinishUpload", err, parley.CodeConflict)
	w.drainOutbox(t)
	_, _, err = w.store.FinishUpload(w.ctx, file, parley.Quota{})
	refused(t, "FinishUpload once it is gone", err, parley.CodeConflict)
	whole := w.upload(t, "b.bin", data)
	must(t, "AbandonUpload of a file", w.store.AbandonUpload(w.ctx, w.scope.WorkspaceID, whole.BlobID))
	refused(
		t,
		"AppendUpload to a file",
		w.store.AppendUpload(w.ctx, w.scope.WorkspaceID, whole.BlobID, 2, []byte("x")),
		parley.CodeConflict,
	)
	w.drainOutbox(t)
	if _, err := w.store.FileChunk(w.ctx, w.scope.WorkspaceID, whole.BlobID, 1); err != nil {
		t.Errorf("a file was given up: %v", err)
	}
}

func testFileLists(t *testing.T, w *world) {
	var made []parley.File
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		made = append(made, w.upload(t, name, [][]byte{[]byte(name)}))
	}
	for _, ascending := range []bool{true, false} {
		query := store.FileQuery{Ascending: ascending, Limit: 2}
		var got []parley.File
		for range mostPages {
			page, err := w.store.Files(w.ctx, w.scope, query)
			must(t, "Files", err)
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			query.AfterID = page[len(page)-1].ID
		}
		want := slices.Clone(made)
		if !ascending {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ascending %t (-want +got):\n%s", ascending, diff)
		}
	}
}

func testFileScope(t *testing.T, w *world) {
	data := pieces('a')
	file := w.upload(t, "a.bin", data)
	other := w.neighbour(t, "other")
	_, err := w.store.File(w.ctx, other.scope, file.ID)
	refused(t, "File", err, parley.CodeNotFound)
	_, err = w.store.FileChunk(w.ctx, other.scope.WorkspaceID, file.BlobID, 0)
	refused(t, "FileChunk", err, parley.CodeNotFound)
	refused(t, "DeleteFile", w.store.DeleteFile(w.ctx, other.scope, file.ID), parley.CodeNotFound)
	if files, err := w.store.Files(w.ctx, other.scope, store.FileQuery{}); err != nil || len(files) > 0 {
		t.Errorf("listed there: %v, %v", files, err)
	}
	must(t, "KeepThumbnail", w.store.KeepThumbnail(w.ctx, other.scope.WorkspaceID, file.BlobID, []byte("x")))
	if data, err := w.store.Thumbnail(w.ctx, w.scope.WorkspaceID, file.BlobID); err != nil || data != nil {
		t.Errorf("another workspace gave it a thumbnail: %q, %v", data, err)
	}
	_, err = w.store.PostMessage(w.ctx, other.scope, other.session(t), other.sayFiles(file.ID), parley.ID{})
	refused(t, "PostMessage", err, parley.CodeNotFound)
	if twin := other.upload(t, "a.bin", data); twin.BlobID == file.BlobID {
		t.Error("two workspaces share bytes")
	}
}

func testFileViewer(t *testing.T, w *world) {
	viewer := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	file := w.upload(t, "a.bin", pieces('a'))
	sees := func(when string, want bool) {
		t.Helper()
		_, err := w.store.File(w.ctx, viewer, file.ID)
		files, listErr := w.store.Files(w.ctx, viewer, store.FileQuery{})
		must(t, "Files", listErr)
		if got := err == nil; got != want || len(files) > 0 != want {
			t.Errorf("%s: seen %t (%v), listed %d; want %t", when, got, err, len(files), want)
		}
	}
	sees("unused", false)
	session := w.session(t)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.sayFiles(file.ID), parley.ID{})
	must(t, "PostMessage", err)
	sees("used in a private session of another", false)
	shared := parley.VisibilityWorkspace
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Visibility: &shared})
	must(t, "UpdateSession", err)
	sees("used in a session of the workspace", true)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	sees("used in a deleted session", false)
}

func testFileUsed(t *testing.T, w *world) {
	file := w.upload(t, "a.bin", pieces('a'))
	session := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, session, w.sayFiles(file.ID), parley.ID{})
	must(t, "PostMessage", err)
	if string(posted.Message.Content) != string(naming(file.ID)) {
		t.Errorf("content %s", posted.Message.Content)
	}
	refused(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, file.ID), parley.CodeConflict)
	first := w.sayFiles(file.ID)
	opened, err := w.store.EnsureSession(
		w.ctx,
		w.scope,
		store.NewSession{Session: w.newSession(), First: &first},
		parley.ID{},
	)
	must(t, "EnsureSession", err)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	refused(
		t,
		"DeleteFile of one that a second session uses",
		w.store.DeleteFile(w.ctx, w.scope, file.ID),
		parley.CodeConflict,
	)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, opened.Session.ID))
}

func testFileEdited(t *testing.T, w *world) {
	first, second := w.upload(t, "a.bin", pieces('a')), w.upload(t, "b.bin", pieces('b'))
	session := w.session(t)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.say("a turn"), parley.ID{})
	must(t, "PostMessage", err)
	posted, err := w.store.PostMessage(
		w.ctx,
		w.scope,
		session,
		w.say("", func(m *store.NewMessage) { m.Content = naming(first.ID) }),
		parley.ID{},
	)
	must(t, "PostMessage", err)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, posted.Message.ID, naming(parley.NewID()))
	refused(t, "EditQueued with a missing file", err, parley.CodeNotFound)
	refused(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, first.ID), parley.CodeConflict)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, posted.Message.ID, naming(second.ID))
	must(t, "EditQueued", err)
	must(t, "DeleteFile of a file no longer used", w.store.DeleteFile(w.ctx, w.scope, first.ID))
	refused(t, "DeleteFile of a file now used", w.store.DeleteFile(w.ctx, w.scope, second.ID), parley.CodeConflict)
	_, err = w.store.EditQueued(w.ctx, w.scope, w.owner.ID, posted.Message.ID, naming(second.ID))
	must(t, "EditQueued", err)
	refused(t, "DeleteFile of a file still used", w.store.DeleteFile(w.ctx, w.scope, second.ID), parley.CodeConflict)
}

func testFileGone(t *testing.T, w *world) {
	file := w.upload(t, "a.bin", pieces('a'))
	must(t, "DeleteFile", w.store.DeleteFile(w.ctx, w.scope, file.ID))
	session := w.session(t)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.sayFiles(file.ID), parley.ID{})
	refused(t, "PostMessage", err, parley.CodeNotFound)
	messages, err := w.store.Messages(w.ctx, w.scope, session, store.MessageQuery{})
	must(t, "Messages", err)
	if len(messages) > 0 {
		t.Errorf("it was recorded nevertheless: %+v", messages)
	}
}

// testFileRace: a file is deleted while messages that use it are posted. In any order, no message uses a deleted file.
func testFileRace(t *testing.T, w *world) {
	for i := range 20 {
		file := w.upload(t, "a.bin", pieces(byte(i)))
		session := w.session(t)
		var group sync.WaitGroup
		var posted, deleted error
		group.Go(func() { _, posted = w.store.PostMessage(w.ctx, w.scope, session, w.sayFiles(file.ID), parley.ID{}) })
		group.Go(func() { deleted = w.store.DeleteFile(w.ctx, w.scope, file.ID) })
		group.Wait()
		if (posted == nil) == (deleted == nil) {
			t.Fatalf("posted: %v; deleted: %v; want exactly one of them", posted, deleted)
		}
	}
}

func testFilePurged(t *testing.T, w *world) {
	only, both, unused := w.upload(
		t,
		"a.bin",
		pieces('a'),
	), w.upload(
		t,
		"b.bin",
		pieces('b'),
	), w.upload(
		t,
		"c.bin",
		pieces('c'),
	)
	first, second := w.session(t), w.session(t)
	_, err := w.store.PostMessage(w.ctx, w.scope, first, w.sayFiles(only.ID, both.ID), parley.ID{})
	must(t, "PostMessage", err)
	_, err = w.store.PostMessage(w.ctx, w.scope, second, w.sayFiles(both.ID), parley.ID{})
	must(t, "PostMessage", err)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, first))
	w.drainOutbox(t)
	_, err = w.store.File(w.ctx, w.scope, only.ID)
	refused(t, "a file used only by the session", err, parley.CodeNotFound)
	_, err = w.store.FileChunk(w.ctx, w.scope.WorkspaceID, only.BlobID, 0)
	refused(t, "its bytes", err, parley.CodeNotFound)
	for _, file := range []parley.File{both, unused} {
		if _, err := w.store.File(w.ctx, w.scope, file.ID); err != nil {
			t.Errorf("%s: %v", file.Name, err)
		}
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, second))
	w.drainOutbox(t)
	_, err = w.store.File(w.ctx, w.scope, both.ID)
	refused(t, "a file after its last session", err, parley.CodeNotFound)
}

// testFileOfResult: parts of a tool's result use files like a user's message.
func testFileOfResult(t *testing.T, w *world) {
	file := w.upload(t, "shot.bin", pieces('a'))
	session := w.session(t)
	w.post(t, session, w.say("Go"))
	fence := w.claim(t).Fence
	calls := w.callTools(t, fence, 1, 2)
	part := parley.FilePart(file)
	settle := w.toolSettle(1, calls[0])
	var err error
	settle.Content, err = parley.EncodeContent(parley.ToolResultContent{Success: true, Parts: []parley.Part{part}})
	must(t, "EncodeContent", err)
	_, err = w.store.SettleTool(w.ctx, fence, settle)
	must(t, "SettleTool", err)
	refused(t, "DeleteFile of a result's", w.store.DeleteFile(w.ctx, w.scope, file.ID), parley.CodeConflict)
	part.FileID = parley.NewID()
	settle = w.toolSettle(1, calls[1])
	settle.Content, err = parley.EncodeContent(parley.ToolResultContent{Success: true, Parts: []parley.Part{part}})
	must(t, "EncodeContent", err)
	_, err = w.store.SettleTool(w.ctx, fence, settle)
	refused(t, "SettleTool with a missing file", err, parley.CodeNotFound)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	w.drainOutbox(t)
	_, err = w.store.File(w.ctx, w.scope, file.ID)
	refused(t, "a result's file after its session", err, parley.CodeNotFound)
}

func testFileThumbnail(t *testing.T, w *world) {
	file := w.upload(t, "a.bin", pieces('a'))
	if data, err := w.store.Thumbnail(w.ctx, w.scope.WorkspaceID, file.BlobID); err != nil || data != nil {
		t.Errorf("before KeepThumbnail: %q, %v", data, err)
	}
	must(t, "KeepThumbnail", w.store.KeepThumbnail(w.ctx, w.scope.WorkspaceID, file.BlobID, []byte("small")))
	if data, err := w.store.Thumbnail(w.ctx, w.scope.WorkspaceID, file.BlobID); err != nil || string(data) != "small" {
		t.Errorf("after KeepThumbnail: %q, %v", data, err)
	}
}
