module mayfly/diff

go 1.25
