#include "fabric/ofi/operation.h"

namespace sluice::fabric::ofi {
void OperationList::push_back(Operation& operation) {
  operation.next = nullptr;
  operation.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &operation;
  last_ = &operation;
}

void OperationList::remove(Operation& operation) {
  (operation.previous != nullptr ? operation.previous->next : first_) = operation.next;
  (operation.next != nullptr ? operation.next->previous : last_) = operation.previous;
  operation.next = nullptr;
  operation.previous = nullptr;
}

Operation* OperationList::pop_front() {
  Operation* const operation = first_;
  if (operation != nullptr) remove(*operation);
  return operation;
}

Operation& OperationPool::take() {
  Operation* operation = free_.pop_front();
  if (operation == nullptr) operation = all_.emplace_back(std::make_unique<Operation>()).get();
  return *operation;
}

void OperationPool::give_back(Operation& operation) {
  operation.state = Operation::State::free;
  operation.lane = nullptr;
  operation.target = nullptr;
  operation.registration.reset();
  operation.done = nullptr;
  operation.failure.reset();
  free_.push_back(operation);
}

}  // namespace sluice::fabric::ofi
