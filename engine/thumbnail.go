package engine

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"

	"example.org/parley"
	"example.org/parley/internal/upload"
	"example.org/parley/store"
)

// thumbnailQuality is the quality of JPEG thumbnails.
const thumbnailQuality = 80

// Thumbnail returns a small version of an image: JPEG, or PNG if it is not opaque. The first request makes it, once for
// all who ask, and it is stored; workspaces take turns (see scaling). It returns CodeInvalid for a file that is not an
// image, or one too large to decode.
func (e *Engine) Thumbnail(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.File, _ []byte, err error) {
	ctx, call, err := e.enter(ctx, principal, "getThumbnail", ReadFiles, on(id))
	if err != nil {
		return parley.File{}, nil, err
	}
	defer call.end(ctx, &err)
	ctx = store.WithAudit(ctx, nil) // storing a thumbnail is nobody's change
	file, err := e.File(ctx, principal, id)
	if err != nil {
		return parley.File{}, nil, err
	}
	switch {
	case file.ImageType() && !file.IsImage():
		return file, nil, parley.InvalidField(
			"file",
			"%s is %s, and its size cannot be read, so it has no thumbnail: it is damaged, or too large",
			file.Name,
			file.MediaType,
		)
	case !file.IsImage():
		return file, nil, parley.InvalidField(
			"file",
			"%s is %s, which has no thumbnail: only PNG, JPEG, GIF and WebP images have one",
			file.Name,
			file.MediaType,
		)
	}
	if int64(file.Width)*int64(file.Height) > parley.MaxImagePixels {
		return file, nil, parley.InvalidField(
			"file",
			"%s has %d × %d pixels; an image of more than %d has no thumbnail",
			file.Name,
			file.Width,
			file.Height,
			parley.MaxImagePixels,
		)
	}
	if data, err := e.store.Thumbnail(ctx, file.WorkspaceID, file.BlobID); err != nil || len(data) > 0 {
		return file, data, err
	}
	asked := imageID{file.WorkspaceID, file.BlobID}
	for {
		making, mine := e.scaling.begin(asked)
		if mine {
			e.makeThumbnail(ctx, file, asked, making)
		}
		select {
		case <-making.done:
		case <-ctx.Done():
			return file, nil, context.Cause(ctx)
		}
		if mine || !making.left {
			return file, making.data, making.err
		}
	}
}

// makeThumbnail does a job and ends it. Once its turn has come, it runs for all who wait and for later requests, even
// if the first caller has left.
func (e *Engine) makeThumbnail(ctx context.Context, file parley.File, id imageID, making *job) {
	defer e.scaling.finish(id, making)
	slot, err := e.scaling.enter(ctx, file.WorkspaceID, int64(file.Width)*int64(file.Height))
	if err != nil {
		making.err, making.left = err, true
		return
	}
	defer e.scaling.leave(slot)
	ctx = context.WithoutCancel(ctx)
	making.data, making.err = e.store.Thumbnail(ctx, file.WorkspaceID, file.BlobID) // perhaps made meanwhile
	if making.err != nil || len(making.data) > 0 {
		return
	}
	making.err = errors.New("engine: a decoder panicked") // replaced below unless a decoder panics
	data, err := thumbnail(file, e.openFile(ctx, file))
	if err == nil {
		err = e.store.KeepThumbnail(ctx, file.WorkspaceID, file.BlobID, data)
	}
	making.data, making.err = data, err
}

// thumbnail decodes an image whose size was checked, and scales it down.
func thumbnail(file parley.File, from io.ReadSeeker) ([]byte, error) {
	whole, err := upload.Decode(file.MediaType, file.Width, file.Height, from)
	if err != nil {
		var stored *parley.Error
		if errors.As(err, &stored) {
			return nil, err
		}
		return nil, parley.InvalidField("file", "%s cannot be decoded as %s", file.Name, file.MediaType)
	}
	small := image.NewNRGBA(thumbnailBounds(whole.Bounds().Dx(), whole.Bounds().Dy()))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), whole, whole.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if small.Opaque() {
		err = jpeg.Encode(&out, small, &jpeg.Options{Quality: thumbnailQuality})
	} else {
		err = png.Encode(&out, small)
	}
	return out.Bytes(), err
}

// thumbnailBounds keeps the ratio of the sides; a small image keeps its size.
func thumbnailBounds(width, height int) image.Rectangle {
	longer := max(width, height)
	if longer > parley.ThumbnailPixels {
		width, height = max(1, width*parley.ThumbnailPixels/longer), max(1, height*parley.ThumbnailPixels/longer)
	}
	return image.Rect(0, 0, width, height)
}
