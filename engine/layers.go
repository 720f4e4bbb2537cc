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
	encoded, _, err := e.encodeFiltered(ctx, scope, call, model, request)
	return encoded, err
}

// encodeFiltered is encodeAgain, with what the middleware does to answers; nil
// when it leaves them as they come.
func (e *Engine) encodeFiltered(ctx context.Context, scope parley.Scope, call *parley.Call, model parley.Model, request *parley.ModelRequest) (parley.EncodedRequest, parley.AnswerFilter, error) {
	text, err := e.callText(ctx, scope, call.MiddlewareHash)
	if err != nil {
		return parley.EncodedRequest{}, nil, err
	}
	layers, err := prompt.RebuildLayers(call.Manifest.Middleware, text, e.middleware)
	if err != nil {
		return parley.EncodedRequest{}, nil, err
	}
	request.CacheKey = call.Manifest.CacheKey
	filter, err := layers.Request(ctx, parley.Exchange{WorkspaceID: call.WorkspaceID, SessionID: call.SessionID}, request)
	if err != nil {
		return parley.EncodedRequest{}, nil, err
	}
	var encoded parley.EncodedRequest
	if call.EncoderVersion > 0 {
		encoded, err = model.EncodeAs(call.EncoderVersion, *request)
	} else {
		encoded, err = model.Encode(*request)
	}
	return encoded, filter, err
}
