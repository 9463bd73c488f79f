package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"example.com/shop/shoppb"
)

// calls implements the gRPC service.
type calls struct {
	shoppb.UnimplementedShopServer
	*shop
}

// server returns the gRPC server, with reflection and health checks.
func (s *shop) server() *grpc.Server {
	to := grpc.NewServer()
	shoppb.RegisterShopServer(to, &calls{shop: s})
	grpc_health_v1.RegisterHealthServer(to, health.NewServer())
	reflection.Register(to)
	return to
}

func (c *calls) ListItems(context.Context, *shoppb.ListItemsRequest) (*shoppb.ListItemsReply, error) {
	var r shoppb.ListItemsReply
	for _, i := range c.list() {
		r.Items = append(r.Items, message(i))
	}
	return &r, nil
}

func (c *calls) GetItem(_ context.Context, r *shoppb.GetItemRequest) (*shoppb.Item, error) {
	i, known := c.get(r.GetSku())
	if !known {
		return nil, status.Errorf(codes.NotFound, "there is no item %s", r.GetSku())
	}
	return message(i), nil
}

func (c *calls) AddItem(_ context.Context, i *shoppb.Item) (*shoppb.Item, error) {
	if i.GetSku() == "" {
		return nil, status.Error(codes.InvalidArgument, "sku is missing")
	}
	c.add(item{SKU: i.GetSku(), Name: i.GetName(), Cents: i.GetCents()})
	return i, nil
}

func message(i item) *shoppb.Item { return &shoppb.Item{Sku: i.SKU, Name: i.Name, Cents: i.Cents} }
