package engine

import (
	"context"

	"parley"
	"parley/prompt"
)

// encodeAgain passes the rebuilt request of a call through the middleware that it
// went through, and encodes it as it was encoded then. CodeNotFound for
// middleware that is not here, and what the wire refuses; else an error is the
// store's.
func (e *Engine) encodeAgain(ctx context.Context, scope parley.Scope, call *parley.Call, model parley.Model, request *parley.ModelRequest) (parley.EncodedRequest, error) {
	text, err := e.callText(ctx, scope, call.MiddlewareHash)
	if err != nil {
		return parley.EncodedRequest{}, err
	}
	layers, err := prompt.RebuildLayers(call.Manifest.Middleware, text, e.middleware)
	if err != nil {
		return parley.EncodedRequest{}, err
	}
	request.CacheKey = call.Manifest.CacheKey
	if _, err := layers.Request(parley.Exchange{WorkspaceID: call.WorkspaceID, SessionID: call.SessionID}, request); err != nil {
		return parley.EncodedRequest{}, err
	}
	if versioned, ok := model.(parley.VersionedEncoder); ok && call.EncoderVersion > 0 {
		return versioned.EncodeAs(call.EncoderVersion, *request)
	}
	return model.Encode(*request)
}
