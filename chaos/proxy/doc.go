// Package proxy stands between one client process and its servers, and holds, delays, loses or resets
// what passes when a fault says so.
package proxy
