package httpapi

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// maxFormBytes is what a form may have around the file that it holds.
const maxFormBytes = 64 << 10

// maxRanges is how many ranges of a file one request may ask for. Each one may read a chunk from the store: thousands
// of single bytes, which fit into a header, would read gigabytes.
const maxRanges = 16

// filePolicy keeps a file that a browser opens from doing anything: anybody in the workspace may have uploaded it.
const filePolicy = "default-src 'none'; sandbox; frame-ancestors 'none'"

func serveUploadFile(a *api, x *exchange) error {
	if err := x.holdUpload(); err != nil {
		x.w.Header().Set("Connection", "close") // do not read on what has no room
		if x.r.Header.Get("Expect") == "" {     // otherwise the client waits for permission to send
			x.passOver()
		}
		return err
	}
	file, fresh, err := a.upload(x)
	if err != nil {
		x.passOver()
	}
	// The answer's time begins now: the upload may have taken longer than that.
	_ = http.NewResponseController(x.w).
		SetWriteDeadline(time.Now().Add(AnswerTimeout))
		// an error only means a connection without deadlines
	if err != nil {
		x.w.Header().Set("Connection", "close") // do not read on what nobody wants
		return err
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	x.w.Header().Set("Location", "/v1/files/"+file.ID.String())
	return sendJSON(x, status, file)
}

// passOver reads the rest of a refused upload: a client that is still sending when the connection ends would not see
// the answer. It does not wait for clients that announced too much or are slow.
func (x *exchange) passOver() {
	if x.r.ContentLength > parley.MaxFileBytes+maxFormBytes {
		return
	}
	_ = http.NewResponseController(x.w).
		SetReadDeadline(time.Now().Add(BodyTimeout))
		// an error only means a connection without deadlines
	_, _ = io.Copy(
		io.Discard,
		x.r.Body,
	) // bounded by upload; the answer is sent in any case
}

// upload reads the file of a form, or a body that is the file itself.
func (a *api) upload(x *exchange) (parley.File, bool, error) {
	if x.r.ContentLength > parley.MaxFileBytes+maxFormBytes {
		return parley.File{}, false, engine.FileTooLarge()
	}
	if encoding := x.r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return parley.File{}, false, parley.Errorf(parley.CodeUnsupported, "Send the file without Content-Encoding.")
	}
	x.r.Body = http.MaxBytesReader(nil, x.r.Body, parley.MaxFileBytes+maxFormBytes)
	name := x.query.Get("name")
	var from io.Reader = x.r.Body
	if media, _, _ := mime.ParseMediaType(x.r.Header.Get("Content-Type")); media == "multipart/form-data" {
		form, err := x.r.MultipartReader()
		if err != nil {
			return parley.File{}, false, parley.Errorf(parley.CodeInvalid, "The form cannot be read.")
		}
		part, err := form.NextPart()
		for err == nil && part.FormName() != "file" {
			part, err = form.NextPart()
		}
		if errors.Is(err, io.EOF) {
			return parley.File{}, false, parley.InvalidField(
				"file",
				"is missing from the form: curl -F file=@report.pdf",
			)
		}
		if err != nil {
			return parley.File{}, false, uploadError(err)
		}
		if from = part; name == "" {
			name = part.FileName()
		}
	}
	if name == "" {
		return parley.File{}, false, parley.InvalidField("name", "is missing; give the file a name: ?name=report.pdf")
	}
	return a.engine.UploadFile(
		x.r.Context(),
		x.principal,
		name,
		&uploadBody{from: from, deadlines: http.NewResponseController(x.w)},
	)
}

// uploadPiece is how much of a file has to arrive within BodyTimeout.
const uploadPiece = 64 << 10

// uploadBody reads a body that may take long as a whole, but not for a single piece. If it breaks off, the error is a
// sentence for people.
type uploadBody struct {
	from      io.Reader
	deadlines *http.ResponseController
	due       int // bytes until the deadline moves on
}

func (b *uploadBody) Read(p []byte) (int, error) {
	if b.due <= 0 {
		b.due = uploadPiece
		_ = b.deadlines.SetReadDeadline(
			time.Now().Add(BodyTimeout),
		) // an error only means a connection without deadlines
	}
	n, err := b.from.Read(p)
	b.due -= n
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = uploadError(err)
	}
	return n, err
}

func uploadError(err error) error {
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return engine.FileTooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return parley.Errorf(
			parley.CodeInvalid,
			"Less than %d bytes of the file arrived within %s.",
			uploadPiece,
			BodyTimeout,
		)
	}
	return parley.Errorf(parley.CodeInvalid, "The file broke off before it was complete.")
}

func serveListFiles(a *api, x *exchange) error {
	args := x.arguments()
	list := args.paging()
	if args.err != nil {
		return args.err
	}
	files, err := a.engine.Files(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, files)
}

func serveFile(a *api, x *exchange) error {
	id, err := x.pathID("file")
	if err != nil {
		return err
	}
	file, err := a.engine.File(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, file)
}

func serveDeleteFile(a *api, x *exchange) error {
	id, err := x.pathID("file")
	if err != nil {
		return err
	}
	if err := a.engine.DeleteFile(x.r.Context(), x.principal, id); err != nil {
		return err
	}
	return x.sendNothing()
}

// serveFileContent answers with the bytes, or with the requested ranges of them.
func serveFileContent(a *api, x *exchange) error {
	id, err := x.pathID("file")
	if err != nil {
		return err
	}
	if err := x.hold(parley.FileChunkBytes); err != nil {
		return err
	}
	content, err := a.engine.FileContent(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	header := x.w.Header()
	media := content.File.MediaType
	if content.File.IsText() {
		media = "text/plain; charset=utf-8" // any kind of text, shown and not run
	}
	header.Set("Content-Type", media)
	header.Set(
		"Content-Disposition",
		mime.FormatMediaType("attachment", map[string]string{"filename": content.File.Name}),
	)
	header.Set("Content-Security-Policy", filePolicy)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("ETag", `"`+content.File.SHA256.String()+`"`)
	if strings.Count(strings.Join(x.r.Header.Values("Range"), ","), ",") >= maxRanges {
		x.r.Header.Del("Range") // a server may answer with the whole instead
	}
	http.ServeContent(&patient{x.w, http.NewResponseController(x.w)}, x.r, "", time.Time{}, content)
	return nil
}

// patient is an answer that may take long as a whole, but not for a single write.
type patient struct {
	http.ResponseWriter
	deadlines *http.ResponseController
}

func (p *patient) Write(data []byte) (int, error) {
	_ = p.deadlines.SetWriteDeadline(
		time.Now().Add(protocol.WriteTimeout),
	) // an error only means a connection without deadlines
	return p.ResponseWriter.Write(data)
}

func serveThumbnail(a *api, x *exchange) error {
	id, err := x.pathID("file")
	if err != nil {
		return err
	}
	file, data, err := a.engine.Thumbnail(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	header := x.w.Header()
	tag := `"` + file.SHA256.String() + `-` + strconv.Itoa(parley.ThumbnailPixels) + `"`
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Content-Security-Policy", filePolicy)
	if strings.Contains(x.r.Header.Get("If-None-Match"), tag) {
		x.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", http.DetectContentType(data))
	header.Set("Content-Length", strconv.Itoa(len(data)))
	x.w.WriteHeader(http.StatusOK)
	_, _ = x.w.Write(data) // the client may be gone; nothing depends on it
	return nil
}
