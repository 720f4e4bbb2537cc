package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"example.org/parley"
)

// UploadFile sends a file's bytes as they are read, at most 64 MiB. A file of
// this name and these bytes that is there already is answered instead of a new one.
func (c *Client) UploadFile(ctx context.Context, name string, from io.Reader) (parley.File, error) {
	var file parley.File
	response, err := c.stream(
		ctx,
		http.MethodPost,
		"/v1/files",
		url.Values{"name": {name}},
		from,
		http.Header{"Content-Type": {"application/octet-stream"}},
	)
	if err != nil {
		return file, err
	}
	defer response.Body.Close() //nolint:errcheck // the body was read
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswerBytes)).Decode(&file); err != nil {
		return file, parley.WrapError(parley.CodeUnavailable, err, "the server's answer broke off")
	}
	return file, nil
}

// Files lists files, newest first; query holds the list parameters of the API.
func (c *Client) Files(ctx context.Context, query url.Values) (Page[parley.File], error) {
	return read[Page[parley.File]](ctx, c, "/v1/files", query)
}

// File reads what is known of a file.
func (c *Client) File(ctx context.Context, id parley.ID) (parley.File, error) {
	return read[parley.File](ctx, c, "/v1/files/"+id.String(), nil)
}

// FileContent opens a file's bytes; the caller closes them.
func (c *Client) FileContent(ctx context.Context, id parley.ID) (io.ReadCloser, error) {
	response, err := c.request(ctx, http.MethodGet, "/v1/files/"+id.String()+"/content", nil, nil, nil)
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// DeleteFile deletes a file that no message uses.
func (c *Client) DeleteFile(ctx context.Context, id parley.ID) error {
	_, err := call[none, none](ctx, c, http.MethodDelete, "/v1/files/"+id.String(), nil, nil, nil)
	return err
}
