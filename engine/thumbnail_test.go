package engine_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
)

// thumbnailTime bounds the waits of these tests; only a failing test reaches it.
const thumbnailTime = 20 * time.Second

// gallery is a store that counts requests for thumbnails, and blocks the bytes of one workspace's images until it is
// opened.
type gallery struct {
	engine.Store
	closed parley.ID     // the workspace
	open   chan struct{} // closed by the test
	asked  chan struct{} // one for each look-up of a stored thumbnail
	mu     sync.Mutex    // guards made
	made   map[parley.ID]int
}

func (g *gallery) Thumbnail(ctx context.Context, workspaceID, blobID parley.ID) ([]byte, error) {
	data, err := g.Store.Thumbnail(ctx, workspaceID, blobID)
	g.asked <- struct{}{}
	return data, err
}

func (g *gallery) FileChunk(ctx context.Context, workspaceID, blobID parley.ID, n int) ([]byte, error) {
	if workspaceID == g.closed {
		select {
		case <-g.open:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.Store.FileChunk(ctx, workspaceID, blobID, n)
}

func (g *gallery) KeepThumbnail(ctx context.Context, workspaceID, blobID parley.ID, data []byte) error {
	g.mu.Lock()
	g.made[blobID]++
	g.mu.Unlock()
	return g.Store.KeepThumbnail(ctx, workspaceID, blobID, data)
}

func newGallery(t *testing.T) (*engine.Engine, *gallery, *house) {
	t.Helper()
	h := newHouse(t, nobody)
	g := &gallery{
		Store:  h.store,
		closed: h.member.WorkspaceID,
		open:   make(chan struct{}),
		asked:  make(chan struct{}, 1000),
		made:   map[parley.ID]int{},
	}
	return engine.New(engine.Options{Store: g, Models: models(t)}), g, h
}

func upload(t *testing.T, e *engine.Engine, principal parley.Principal, width int) parley.File {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, image.NewNRGBA(image.Rect(0, 0, width, 300))); err != nil {
		t.Fatal(err)
	}
	file, _, err := e.UploadFile(t.Context(), principal, "image.png", &out)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// await receives n times.
func await(t *testing.T, what string, from <-chan struct{}, n int) {
	t.Helper()
	deadline := time.After(thumbnailTime)
	for i := range n {
		select {
		case <-from:
		case <-deadline:
			t.Fatalf("%s: %d of %d", what, i, n)
		}
	}
}

// However many callers ask for an image's thumbnail at once, it is made once.
func TestAThumbnailIsMadeOnce(t *testing.T) {
	t.Parallel()
	e, g, h := newGallery(t)
	file := upload(t, e, h.member, 400)
	const many = 40
	var asking sync.WaitGroup
	for range many {
		asking.Go(func() {
			if _, data, err := e.Thumbnail(t.Context(), h.member, file.ID); err != nil || len(data) == 0 {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
	await(t, "asked", g.asked, many)
	close(g.open)
	asking.Wait()
	if made := g.made[file.BlobID]; made != 1 || len(g.made) != 1 {
		t.Errorf("it was made %d times", made)
	}
	if _, data, err := e.Thumbnail(
		t.Context(),
		h.member,
		file.ID,
	); err != nil || len(data) == 0 ||
		g.made[file.BlobID] != 1 {
		t.Errorf("asked again: %d bytes, %v, made %d times", len(data), err, g.made[file.BlobID])
	}
}

// Forty images of one workspace do not delay another workspace's.
func TestThumbnailsTakeTurns(t *testing.T) {
	t.Parallel()
	e, g, h := newGallery(t)
	const many = 40
	files := make([]parley.File, many)
	for i := range files {
		files[i] = upload(t, e, h.member, 400+i)
	}
	key, err := h.CreateKeyIn(t.Context(), "other", engine.KeyInput{Name: "other"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := h.Authenticate(t.Context(), key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	theirs := upload(t, e, other, 400)
	var asking sync.WaitGroup
	for i := range files {
		asking.Go(func() {
			if _, data, err := e.Thumbnail(t.Context(), h.member, files[i].ID); err != nil || len(data) == 0 {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
	}
	await(t, "asked", g.asked, many) // while the workspace's bytes are blocked
	ctx, stop := context.WithTimeout(t.Context(), thumbnailTime)
	defer stop()
	if _, data, err := e.Thumbnail(ctx, other, theirs.ID); err != nil || len(data) == 0 {
		t.Errorf("another workspace's waited for them: %d bytes, %v", len(data), err)
	}
	close(g.open)
	asking.Wait()
	if len(g.made) != many+1 {
		t.Errorf("%d were made", len(g.made))
	}
}

// A thumbnail reaches those who wait for it even if the first caller has left.
func TestAThumbnailOutlivesWhoAskedFirst(t *testing.T) {
	t.Parallel()
	e, g, h := newGallery(t)
	first, second := upload(t, e, h.member, 400), upload(t, e, h.member, 401)
	var asking sync.WaitGroup
	ask := func(ctx context.Context, file parley.File, gone bool) <-chan struct{} {
		over := make(chan struct{}, 1)
		asking.Go(func() {
			defer func() { over <- struct{}{} }()
			if _, data, err := e.Thumbnail(ctx, h.member, file.ID); gone != (err != nil) || gone != (len(data) == 0) {
				t.Errorf("%d bytes, %v", len(data), err)
			}
		})
		return over
	}
	ask(t.Context(), first, false)
	await(t, "the first", g.asked, 2) // before and after its turn: it holds the workspace's slot
	leaving, leave := context.WithCancel(t.Context())
	left := ask(leaving, second, true)
	await(t, "the second", g.asked, 1)
	ask(t.Context(), second, false)
	await(t, "the second's other", g.asked, 1)
	leave()
	await(t, "whoever left", left, 1)
	close(g.open)
	asking.Wait()
	if g.made[second.BlobID] != 1 {
		t.Errorf("it was made %d times", g.made[second.BlobID])
	}
}
