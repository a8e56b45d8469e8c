package durable

const nonblocking = 0
