package main

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// handler returns the REST API.
func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"items": s.list()})
	})
	mux.HandleFunc("GET /items/{sku}", func(w http.ResponseWriter, r *http.Request) {
		i, known := s.get(r.PathValue("sku"))
		if !known {
			reply(w, http.StatusNotFound, map[string]string{"error": "there is no item " + r.PathValue("sku")})
			return
		}
		reply(w, http.StatusOK, i)
	})
	mux.HandleFunc("POST /items", func(w http.ResponseWriter, r *http.Request) {
		var i item
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&i); err != nil || i.SKU == "" {
			reply(w, http.StatusBadRequest, map[string]string{"error": "want JSON with sku, name and cents"})
			return
		}
		s.add(i)
		reply(w, http.StatusCreated, i)
	})
	return mux
}

func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the caller is gone
}
