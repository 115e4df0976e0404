package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"touchstone/harness/refserver/sched"
)

// apiError is a refusal in OpenAI's shape:
// {"error":{"message","type","param","code"}}, with vLLM's type names.
type apiError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // the request's field, where one is at fault
	Code    int     `json:"code"`  // the HTTP status
}

func (e *apiError) Error() string { return e.Message }

// badField refuses a field of the request with 400.
func badField(field, format string, args ...any) *apiError {
	return &apiError{Message: field + " " + fmt.Sprintf(format, args...), Type: "BadRequestError", Param: &field, Code: http.StatusBadRequest}
}

func badRequest(format string, args ...any) *apiError {
	return &apiError{Message: fmt.Sprintf(format, args...), Type: "BadRequestError", Code: http.StatusBadRequest}
}

// serverError is 500; of a closed engine 503, so that a client's retry goes elsewhere.
func serverError(err error) *apiError {
	e := &apiError{Message: err.Error(), Type: "InternalServerError", Code: http.StatusInternalServerError}
	if errors.Is(err, sched.ErrClosed) {
		e.Type, e.Code = "ServiceUnavailableError", http.StatusServiceUnavailable
	}
	return e
}

// toAPI turns any error into one with a status.
func toAPI(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*sched.InvalidError](err); ok {
		return badField(e.Field, "%s", e.Reason)
	}
	return serverError(err)
}

func errorBody(e *apiError) []byte {
	b, err := json.Marshal(map[string]*apiError{"error": e})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return b
}

func writeError(w http.ResponseWriter, e *apiError) {
	writeBody(w, e.Code, errorBody(e))
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body) // the client may be gone; nobody is left to tell
}

func writeJSON(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		writeError(w, serverError(err))
		return
	}
	writeBody(w, http.StatusOK, b)
}
