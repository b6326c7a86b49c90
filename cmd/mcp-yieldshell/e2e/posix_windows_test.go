package e2e

const posix = false
