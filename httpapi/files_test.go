package httpapi

import (
	"bytes"
	stdbinary "encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// picture is a PNG of a size, with a hole if it is not to be opaque.
func picture(t *testing.T, width, height int, hole bool) string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	if hole {
		img.Set(0, 0, color.NRGBA{})
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (s *testServer) upload(name, data string) parley.File {
	s.Helper()
	return want[parley.File](
		s,
		http.StatusCreated,
		"POST",
		"/v1/files?name="+name,
		data,
		"Content-Type",
		"application/octet-stream",
	)
}

func TestFilesAreUploadedAndDownloaded(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	data := strings.Repeat("Parley keeps files. ", 40_000) // four chunks
	var form bytes.Buffer
	fields := multipart.NewWriter(&form)
	part, err := fields.CreateFormFile("file", `C:\papers\notes über "x".txt`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, data); err != nil {
		t.Fatal(err)
	}
	if err := fields.Close(); err != nil {
		t.Fatal(err)
	}
	made := want[parley.File](
		s,
		http.StatusCreated,
		"POST",
		"/v1/files",
		form.String(),
		"Content-Type",
		fields.FormDataContentType(),
	)
	if made.Name != `notes über "x".txt` || made.MediaType != "text/plain" || made.Size != int64(len(data)) ||
		made.SHA256 != parley.HashOf([]byte(data)) {
		t.Fatalf("the form's file: %+v", made)
	}
	again := want[parley.File](
		s,
		http.StatusOK,
		"POST",
		"/v1/files?name=notes+%C3%BCber+%22x%22.txt",
		data,
		"Content-Type",
		"application/octet-stream",
	)
	if again.ID != made.ID {
		t.Errorf("the same name and bytes are another file: %s, %s", made.ID, again.ID)
	}
	path := "/v1/files/" + made.ID.String()
	got := s.do("GET", path+"/content", "")
	for name, value := range map[string]string{
		"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": filePolicy,
		"Content-Disposition":     `attachment; filename*=utf-8''notes%20%C3%BCber%20%22x%22.txt`,
		"Etag":                    `"` + made.SHA256.String() + `"`,
		"Content-Length":          fmt.Sprint(len(data)), "Accept-Ranges": "bytes",
	} {
		if got.header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
		}
	}
	if string(got.body) != data {
		t.Errorf("%d bytes came back of %d", len(got.body), len(data))
	}
	const from, to = parley.FileChunkBytes - 3, parley.FileChunkBytes + 4 // over a chunk's end
	if got := s.do(
		"GET",
		path+"/content",
		"",
		"Range",
		fmt.Sprintf("bytes=%d-%d", from, to),
	); got.status != http.StatusPartialContent ||
		string(got.body) != data[from:to+1] {
		t.Errorf("a range: status %d, %q; want %q", got.status, got.body, data[from:to+1])
	}
	for count, status := range map[int]int{
		maxRanges:     http.StatusPartialContent,
		maxRanges + 1: http.StatusOK, // the whole: more ranges would read a chunk each, again and again
	} {
		ranges := "bytes=" + strings.Repeat("0-0,", count-1) + "-1"
		got := s.do("GET", path+"/content", "", "Range", ranges)
		if got.status != status || (status == http.StatusOK && string(got.body) != data) {
			t.Errorf("%d ranges: status %d with %d bytes, want %d", count, got.status, len(got.body), status)
		}
	}
	if got := s.do(
		"GET",
		path+"/content",
		"",
		"Range",
		"bytes=900000000-",
	); got.status != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range behind the end: status %d", got.status)
	}
	if got := s.do(
		"GET",
		path+"/content",
		"",
		"If-None-Match",
		`"`+made.SHA256.String()+`"`,
	); got.status != http.StatusNotModified ||
		len(got.body) > 0 {
		t.Errorf("what the client has: status %d, %d bytes", got.status, len(got.body))
	}
	if list := want[page[parley.File]](
		s,
		http.StatusOK,
		"GET",
		"/v1/files",
		"",
	); len(list.Data) != 1 ||
		list.Data[0] != made {
		t.Errorf("listed: %+v", list.Data)
	}
	s.do("DELETE", path, "")
	if got := s.do("GET", path, ""); got.status != http.StatusNotFound {
		t.Errorf("once deleted: status %d", got.status)
	}
}

// The type is found by looking at the bytes: neither name nor header count.
func TestFilesAreWhatTheirBytesAre(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	long := strings.Repeat("x", parley.FileChunkBytes-1)
	for name, c := range map[string]struct{ data, media string }{
		"a.png":         {"<html><script>alert(1)</script>", "text/html"},
		"a.txt":         {picture(t, 3, 2, false), "image/png"},
		"b.txt":         {"caf\xe9", "application/octet-stream"},
		"c.txt":         {"a\x00b", "application/octet-stream"},
		"cut.txt":       {long + "é", "text/plain"}, // the rune lies over a chunk's end
		"cut-off.txt":   {long + "\xc3", "application/octet-stream"},
		"cut-wrong.txt": {long + "\xc3x", "application/octet-stream"},
		"d.json":        {`{"a":1}`, "text/plain"},
		"e.pdf":         {"%PDF-1.7\n", "application/pdf"},
	} {
		if file := s.upload(name, c.data); file.MediaType != c.media {
			t.Errorf("%s: %s, want %s", name, file.MediaType, c.media)
		}
	}
}

func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	if got := s.do(
		"POST",
		"/v1/files?name=a",
		"",
		"Content-Type",
		"application/octet-stream",
	); got.status != http.StatusUnprocessableEntity {
		t.Errorf("an empty file: status %d %s", got.status, got.body)
	}
	if got := s.do(
		"POST",
		"/v1/files",
		"x",
		"Content-Type",
		"application/octet-stream",
	); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a file without a name: status %d %s", got.status, got.body)
	}
	if got := s.do(
		"POST",
		"/v1/files?name=a%0Ab",
		"x",
		"Content-Type",
		"application/octet-stream",
	); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a name of two lines: status %d %s", got.status, got.body)
	}
	for what, headers := range map[string]string{
		"a length beyond the bound": fmt.Sprintf("Content-Length: %d\r\n", parley.MaxFileBytes+maxFormBytes+1),
		"a body that breaks off":    "Content-Length: 1000\r\n",
	} {
		status := s.raw(
			"POST /v1/files?name=a HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + testToken +
				"\r\nContent-Type: application/octet-stream\r\nConnection: close\r\n" + headers + "\r\nabc",
		)
		if want := map[bool]string{true: "413", false: "422"}[strings.Contains(what, "beyond")]; !strings.HasPrefix(
			status,
			"HTTP/1.1 "+want,
		) {
			t.Errorf("%s: %q, want %s", what, status, want)
		}
	}
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		s.url+"/v1/files?name=endless",
		io.LimitReader(zeros{}, parley.MaxFileBytes+parley.FileChunkBytes),
	)
	if err != nil {
		t.Fatal(err)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without a length, beyond the bound: status %d", response.StatusCode)
	}
	if list := want[page[parley.File]](s, http.StatusOK, "GET", "/v1/files", ""); len(list.Data) > 0 {
		t.Errorf("kept all the same: %+v", list.Data)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// raw sends bytes as a client and returns the answer's first line. It ends its
// side after them.
func (s *testServer) raw(request string) string {
	s.Helper()
	c, err := new(net.Dialer).DialContext(s.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		s.Fatal(err)
	}
	if half, ok := c.(*net.TCPConn); ok && half.CloseWrite() != nil {
		s.Fatal("the connection cannot be half closed")
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		s.Fatal(err)
	}
	line, _, _ := strings.Cut(string(answer), "\r\n")
	return line
}

func TestThumbnails(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, c := range []struct {
		name, data, media string
		width, height     int
	}{
		{"wide.png", picture(t, 1000, 10, false), "image/jpeg", 256, 2},
		{"hole.png", picture(t, 100, 400, true), "image/png", 64, 256},
		{"small.png", picture(t, 5, 4, false), "image/jpeg", 5, 4},
	} {
		file := s.upload(c.name, c.data)
		for range 2 { // made, and kept
			got := s.do("GET", "/v1/files/"+file.ID.String()+"/thumbnail", "")
			config, _, err := image.DecodeConfig(bytes.NewReader(got.body))
			if err != nil || got.header.Get("Content-Type") != c.media || config.Width != c.width ||
				config.Height != c.height {
				t.Errorf(
					"%s: %s %dx%d, %v; want %s %dx%d",
					c.name,
					got.header.Get("Content-Type"),
					config.Width,
					config.Height,
					err,
					c.media,
					c.width,
					c.height,
				)
			}
		}
		if kept, err := s.store.Thumbnail(t.Context(), file.WorkspaceID, s.blob(file)); err != nil || len(kept) == 0 {
			t.Errorf("%s: not kept: %v", c.name, err)
		}
	}
	// A header that promises more pixels than are ever decoded.
	bomb := []byte(picture(t, 1, 1, false))
	copy(bomb[16:], []byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff})
	for _, c := range []struct{ name, data, says string }{
		{"bomb.png", string(bomb), "its size cannot be read"}, {"a.txt", "text", "only PNG, JPEG, GIF and WebP"},
		{"broken.png", picture(t, 300, 300, false)[:60], "cannot be decoded as image/png"},
		{"damaged.png", picture(t, 300, 300, false)[:12],
			"damaged.png is image/png, and its size cannot be read, so it has no thumbnail: it is damaged"},
	} {
		file := s.upload(c.name, c.data)
		got := s.do("GET", "/v1/files/"+file.ID.String()+"/thumbnail", "")
		if got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%s: status %d %s", c.name, got.status, got.body)
		}
	}
}

// webP is a WebP file whose header declares one size and whose picture has another. The picture has one colour, so it
// takes a few bytes whatever its size.
func webP(says, holds image.Point) []byte {
	frame := []byte{'/', 0, 0, 0, 0, 0x88, 0x88, 0x08, 0, 0} // five codes of one symbol each
	stdbinary.LittleEndian.PutUint32(frame[1:], uint32(holds.X-1)|uint32(holds.Y-1)<<14)
	canvas := []byte{
		0,
		0,
		0,
		0,
		byte(says.X - 1),
		byte((says.X - 1) >> 8),
		0,
		byte(says.Y - 1),
		byte((says.Y - 1) >> 8),
		0,
	}
	file := []byte("RIFF\x00\x00\x00\x00WEBP")
	for _, chunk := range []struct {
		name string
		data []byte
	}{{"VP8X", canvas}, {"VP8L", frame}} {
		file = stdbinary.LittleEndian.AppendUint32(append(file, chunk.name...), uint32(len(chunk.data)))
		file = append(file, chunk.data...)
	}
	stdbinary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	return file
}

// TestAWebPThatSaysLessThanItHolds: if a header of 48 bytes declares one pixel, no memory is allocated for more.
func TestAWebPThatSaysLessThanItHolds(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	honest, long := webP(image.Pt(300, 200), image.Pt(300, 200)), webP(image.Pt(300, 200), image.Pt(300, 200))
	stdbinary.LittleEndian.PutUint32(long[34:], 1<<30) // bytes of the picture
	for name, c := range map[string]struct {
		data   []byte
		status int
	}{
		"honest.webp": {honest, http.StatusOK},
		"bomb.webp":   {webP(image.Pt(1, 1), image.Pt(4000, 4000)), http.StatusUnprocessableEntity},
		"long.webp":   {long, http.StatusUnprocessableEntity},
	} {
		file := s.upload(name, string(c.data))
		if got := s.do("GET", "/v1/files/"+file.ID.String()+"/thumbnail", ""); got.status != c.status {
			t.Errorf("%s: status %d, want %d", name, got.status, c.status)
		}
	}
}

func (s *testServer) blob(file parley.File) parley.ID {
	s.Helper()
	whole, err := s.store.File(s.Context(), store.Scope{WorkspaceID: file.WorkspaceID}, file.ID)
	if err != nil {
		s.Fatal(err)
	}
	return whole.BlobID
}

// A message's files reach the model, and the request can be put together again.
func TestFilesOfMessages(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	photo, notes := s.upload("photo.png", picture(t, 6, 4, false)), s.upload("notes.txt", "remember the milk")
	session := s.session("{}")
	path := "/v1/sessions/" + session.ID.String() + "/messages"
	content := fmt.Sprintf(`{"content":{"text":"what is this?","files":[%q,%q]}}`, photo.ID, notes.ID)
	s.stream("POST", path, content).until("session.completed")
	messages := want[page[parley.Message]](s, http.StatusOK, "GET", path, "").Data
	answer := string(messages[len(messages)-1].Content)
	if !strings.Contains(answer, "image 6x4 image/png") || !strings.Contains(answer, "remember the milk") ||
		!strings.Contains(answer, "what is this?") {
		t.Errorf("the model was shown %s", answer)
	}
	calls := want[page[parley.Call]](s, http.StatusOK, "GET", "/v1/sessions/"+session.ID.String()+"/calls", "").Data
	if detail := want[engine.CallDetail](
		s,
		http.StatusOK,
		"GET",
		"/v1/calls/"+calls[0].ID.String(),
		"",
	); !detail.Exact {
		t.Errorf("the request is not rebuilt exactly: %s", detail.Reason)
	}
	if got := s.do("DELETE", "/v1/files/"+photo.ID.String(), ""); got.status != http.StatusConflict {
		t.Errorf("a used file is deleted: status %d", got.status)
	}
	// The same session goes on with a model that reads no images: the old one is named.
	s.stream("POST", path, `{"content":{"text":"and now?"},"model":"sim/reason"}`).until("session.completed")
	calls = want[page[parley.Call]](s, http.StatusOK, "GET", "/v1/sessions/"+session.ID.String()+"/calls", "").Data
	detail := want[engine.CallDetail](s, http.StatusOK, "GET", "/v1/calls/"+calls[0].ID.String(), "")
	if !detail.Exact || !strings.Contains(string(detail.Request), "this model reads no images") {
		t.Errorf("exact %t: %s", detail.Exact, detail.Request)
	}
	for name, c := range map[string]struct{ body, says string }{
		"no vision": {fmt.Sprintf(`{"content":{"text":"x","files":[%q]},"model":"sim/reason"}`, photo.ID),
			"reads no images"},
		"a PDF": {fmt.Sprintf(`{"content":{"text":"x","files":[%q]}}`, s.upload("a.pdf", "%PDF-1.7\n").ID),
			"application/pdf"},
		"long text": {fmt.Sprintf(`{"content":{"text":"x","files":[%q]}}`,
			s.upload("b.txt", strings.Repeat("x", parley.MaxTextFileBytes+1)).ID), "up to 262144"},
		"twice": {fmt.Sprintf(`{"content":{"text":"x","files":[%q,%q]}}`, photo.ID,
			strings.ToUpper(photo.ID.String())), "twice"},
		"not an id":  {`{"content":{"text":"x","files":["photo.png"]}}`, "not the id of a file"},
		"in session": {fmt.Sprintf(`{"content":{"files":[%q]},"model":"sim/lorem-5-0"}`, photo.ID), "reads no images"},
	} {
		if got := s.do(
			"POST",
			path,
			c.body,
		); got.status != http.StatusUnprocessableEntity ||
			!strings.Contains(string(got.body), c.says) {
			t.Errorf("%s: status %d %s; want 422 and %q", name, got.status, got.body, c.says)
		}
	}
}
